#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/exchange/formats/weight_type.h"
#include "train/system/write_file.h"

namespace dikkat {

/// A tensor to be written to a file of another program.
struct NewTensor {
  std::string name;
  WeightType type = WeightType::f32;  ///< what its elements are stored as
  std::vector<index> shape{};         ///< row-major
  /// Writes elements first to first + count - 1, row-major, to out (count). It is asked twice for each, in rising order, and has to give
  /// the same both times (train/system/write_file.h).
  std::function<void(index first, index count, float* out)> values{};
};

/// A tensor whose elements lie at `values`, row-major, which must outlive it.
NewTensor new_tensor(std::string name, WeightType type, std::vector<index> shape, const float* values);

/// The bytes of its elements. Throws InputError if it has too many elements, more than `most_rank` extents, or rows (the last extent) that
/// are not whole blocks of its type.
index bytes_of(const NewTensor& tensor, std::size_t most_rank);

/// Puts the elements into the sink, a piece of a few megabytes at a time.
void put_elements(ByteSink& sink, const NewTensor& tensor);

/// Puts `count` zero bytes.
void put_zeros(ByteSink& sink, index count);

/// Throws InputError if two tensors have the same name. `path` begins the message.
void require_different_names(std::span<const NewTensor> tensors, const std::string& path);

}  // namespace dikkat
