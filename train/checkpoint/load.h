#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/contents.h"
#include "train/io/file.h"

namespace dikkat {

/// Where a tensor of a checkpoint is loaded to: bytes_of(type, shape) bytes, row-major.
struct TensorTarget {
  std::string name;  ///< what follows the prefix and a slash in the tensor's path
  ElementType type = ElementType::f32;
  Shape shape;
  void* data = nullptr;
};

/// A checkpoint every byte of which has been checked.
class CheckpointFile {
 public:
  /// Reads and checks the whole file, which is all that `dikkat verify` does: every byte is hashed, and then the index is read. The file
  /// may come from anybody: it never reaches the HDF5 library, nothing but the file is read, and memory is bounded. Throws InputError with
  /// the path and the reason for a file that is missing, foreign, truncated, altered, newer, malformed or hostile, Error if the disk fails.
  static CheckpointFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  index format() const { return format_; }
  index bytes() const { return bytes_; }
  /// The root hash of all but the header, 64 hexadecimal digits: equal state, equal hash.
  const std::string& hash() const { return hash_; }

  const TrainingState& state() const { return contents_.state; }
  const std::string& config() const { return contents_.config; }
  const std::string& tokenizer() const { return contents_.tokenizer; }
  /// All of them, by path.
  const std::vector<StoredTensor>& tensors() const { return contents_.tensors; }

  /// Copies the elements of the tensor to `out`. Throws InputError if there is no such tensor, or if it has another type or shape.
  void read(std::string_view path, ElementType type, const Shape& shape, void* out) const;

 private:
  CheckpointFile() = default;

  std::filesystem::path path_;
  File file_;
  index format_ = 0;
  index bytes_ = 0;
  std::string hash_;
  Contents contents_;
};

/// Fills all targets from the tensors whose path begins with `prefix` and a slash, such as "model" or "optimizer/m". Throws InputError
/// before anything is written unless these are exactly the targets' names, with these types and shapes.
void load_tensors(const CheckpointFile& checkpoint, std::string_view prefix, std::span<const TensorTarget> targets);

}  // namespace dikkat
