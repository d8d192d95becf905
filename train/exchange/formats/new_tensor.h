#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/exchange/formats/weight_type.h"
#include "train/system/write_file.h"

namespace dikkat {

/// A tensor to write to another program's file.
struct NewTensor {
  std::string name;
  WeightType type = WeightType::f32;  ///< the type in the file
  std::vector<index> shape{};         ///< row-major
  /// Writes elements first to first + count - 1, row-major, to out (count). Called twice for each element, in rising order, and must write
  /// the same values both times (train/system/write_file.h).
  std::function<void(index first, index count, float* out)> values{};
};

/// Makes a tensor from row-major elements at `values`, which must outlive it.
NewTensor new_tensor(std::string name, WeightType type, std::vector<index> shape, const float* values);

/// Returns the bytes of the tensor's elements. Throws InputError if it has too many elements, more than `most_rank` extents, or rows (the
/// last extent) that are not whole blocks of its type.
index bytes_of(const NewTensor& tensor, std::size_t most_rank);

/// Writes the elements to the sink, a few megabytes at a time.
void put_elements(ByteSink& sink, const NewTensor& tensor);

/// Writes `count` zero bytes to the sink.
void put_zeros(ByteSink& sink, index count);

/// Throws InputError if two tensors have the same name. `path` begins the message.
void require_different_names(std::span<const NewTensor> tensors, const std::string& path);

}  // namespace dikkat
