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

/// Some rows of one of our tensors, as a file stores them. A vector is a matrix of one column.
struct TensorPiece {
  const ParameterStore::Entry* ours = nullptr;  // null: zeros, for padding or a bias that our model does not have
  index first_row = 0, rows = 0, cols = 0;      // the rows and columns of `ours`
  Layout layout = Layout::same;
  index head_size = 0;  // used with rotary_pairs and rotary_first
  index rotated = 0;    // rotated rows of a head; used with rotary_first

  index elements() const { return rows * cols; }
};

/// A tensor of a file: pieces of our tensors, one after another.
struct MappedTensor {
  std::string name;
  std::vector<index> shape{};  // in the file, row-major
  std::vector<TensorPiece> pieces{};
};

/// Returns the tensors of a model in a file with these names. `with_zeros` adds biases that the family has and our model does not. Throws
/// Error for a parameter that the rules do not name.
std::vector<MappedTensor> map_tensors(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                      bool with_zeros = false);

/// The names of an adapter's factors: `before`, the matrix's name without `cut` at its end, then `a` or `b`.
struct AdapterNames {
  std::string_view before, cut, a, b;
};
/// Returns the tensors of the store's adapters (layers/lora.h). If a file divides our matrix into several, each gets a copy of A, (rank,
/// in), and its own rows of B, (rows, rank). A matrix that is one tensor in the file has one pair of factors there too.
std::vector<MappedTensor> map_adapters(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                       const AdapterNames& names);

/// Reads one tensor of a file, which has its shape, into the parameters that it holds rows of.
void read_tensor(const WeightTensor& source, const MappedTensor& tensor);

/// The rows of one of our tensors that a file's tensor holds.
struct MappedRows {
  index first = 0, count = 0;
  std::vector<index> order{};  // for each row of the file, the row of ours, counted from `first`; empty: they are in the same order
};
MappedRows rows_of(const MappedTensor& tensor);

/// Pads the matrix with this name to `rows` rows. Reading ignores the padding, and writing fills it with zeros.
void pad_rows(std::vector<MappedTensor>& map, std::string_view name, index rows);

/// How names in a file may differ from those in the map.
struct FileNames {
  std::string_view prefix{};                    // all names in a file may lack this prefix
  std::span<const std::string_view> buffers{};  // ends of names of tensors that are not weights, which are ignored
  std::string_view repeated{};                  // a tensor that is ignored: a head that repeats the token table
};

/// Returns whether two tensors of a file hold the same numbers.
bool same_numbers(const WeightTensor& a, const WeightTensor& b);

/// Collects all problems with the tensors of a file, so that one message can list them.
struct TensorProblems {
  std::vector<std::string> missing, misshapen, unknown, other;  // unknown: types; other: tensors that nothing takes
  bool are_of_ggml = false;                                     // the unknown types

  /// Notes a type that cannot be converted, or a shape other than this one.
  void compare(const WeightTensor& tensor, const std::vector<index>& shape);
  /// Returns "it lacks a; b is [2], expected [3]; tensors that the model does not have: c", where `others` introduces the last list.
  /// Returns an empty string if there are no problems.
  std::string text(const char* others) const;
};

/// Reads the weights of the store, which must have memory, from the file. If tensors are missing, misshapen, unknown or of a type that
/// cannot be converted, throws InputError, which lists all of them, before anything is written. `loaded` is called for each parameter as
/// soon as it is complete.
void read_tensors(const WeightFile& file, const std::vector<MappedTensor>& map, const FileNames& names, ParameterStore& store,
                  const ParameterStore::Loaded& loaded = {});

/// Returns the tensors to write, with the types that `type_of` returns. The store must outlive them.
std::vector<NewTensor> new_tensors(const std::vector<MappedTensor>& map, const ParameterStore& store,
                                   const std::function<WeightType(const MappedTensor&)>& type_of);

}  // namespace dikkat
