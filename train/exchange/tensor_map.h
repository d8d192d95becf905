#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/transformer_config.h"
#include "train/exchange/family.h"
#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Rows of one of our tensors, as they lie in a file. A vector is a matrix of one column.
struct TensorPiece {
  const ParameterStore::Entry* ours = nullptr;  // null: zeros, of a bias that our model does not have, or padding
  index first_row = 0, rows = 0, cols = 0;      // of ours
  Turn turn = Turn::none;
  index head_size = 0;  // of rotary_pairs

  index elements() const { return rows * cols; }
};

/// A tensor of a file, made of pieces of ours that follow each other.
struct MappedTensor {
  std::string name;
  std::vector<index> shape{};  // in the file, row-major
  std::vector<TensorPiece> pieces{};
};

/// What a file of this layout holds of a model. `with_zeros`: also biases that the family has and our model does not. Throws Error for a
/// parameter that the layout has no name for.
std::vector<MappedTensor> map_tensors(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                      bool with_zeros = false);

/// How a layout of adapters names the factors of a matrix: `before`, the matrix's name without `cut` at its end, then `a` or `b`.
struct AdapterNames {
  std::string_view before, cut, a, b;
};
/// The adapters in the store (layers/lora.h) of the matrices of a layout. A matrix of ours that is several in the file shares its A, so
/// each of these has A, (rank, in), and its own rows of B, (rows, rank).
std::vector<MappedTensor> map_adapters(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                       const AdapterNames& names);

/// Adds rows of zeros to the matrix of this name, so that it has `rows`. They are written as zeros, and left out when they are read.
void pad_rows(std::vector<MappedTensor>& map, std::string_view name, index rows);

/// Which names of a file are taken for which. A name may have the prefix or lack it, if the file as a whole does; names that end like a
/// buffer hold no weights.
struct FileNames {
  std::string_view prefix{};
  std::span<const std::string_view> buffers{};
  std::string_view
      repeated{};  // a tensor that may be there although the model has none of this name: the head that repeats the token table
};

/// Whether two tensors of a file hold the same numbers.
bool same_numbers(const WeightTensor& a, const WeightTensor& b);

/// What is wrong with the tensors of a file, which is told at once.
struct TensorProblems {
  std::vector<std::string> missing, misshapen, unknown, other;  // other: tensors that nothing takes

  /// Notes a type that is not converted, or another shape than this one.
  void compare(const WeightTensor& tensor, const std::vector<index>& shape);
  /// "it lacks a; b is [2], expected [3]; tensors that the model does not have: c", where `others` says what these are; empty: nothing is
  /// wrong.
  std::string text(const char* others) const;
};

/// Reads the weights of the store, which has memory, from the file. Throws InputError before anything is written if tensors are missing or
/// misshapen, if there are others than those, or if one is of a type that is not converted: all of them are listed. `loaded` is called for
/// each parameter as soon as all of it is read.
void read_tensors(const WeightFile& file, const std::vector<MappedTensor>& map, const FileNames& names, ParameterStore& store,
                  const ParameterStore::Loaded& loaded = {});

/// The tensors to be written, each stored as `type_of` says. The store must outlive them.
std::vector<NewTensor> new_tensors(const std::vector<MappedTensor>& map, const ParameterStore& store,
                                   const std::function<WeightType(const MappedTensor&)>& type_of);

}  // namespace dikkat
