#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/image.h"

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
  /// Reads and checks the whole file, which is all that `dikkat verify` does. Nothing reaches the HDF5 library before every byte
  /// has been hashed; the library then works in a child process that can do nothing but read this file, and only the formats of image.h
  /// are accepted. Throws InputError with the path and the reason for a file that is missing, foreign, truncated, altered, newer,
  /// malformed or hostile, Error if the disk fails or there can be no child process.
  static CheckpointFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  index format() const { return format_; }
  index bytes() const { return bytes_; }
  /// The root hash of the image, 64 hexadecimal digits: equal state, equal hash.
  const std::string& hash() const { return hash_; }

  const TrainingState& state() const { return image_.state; }
  const std::string& config() const { return image_.config; }
  const std::string& tokenizer() const { return image_.tokenizer; }
  /// All of them, by path.
  const std::vector<StoredTensor>& tensors() const { return image_.tensors; }

  /// Copies the elements of the tensor to `out`. Throws InputError if there is no such tensor, or if it has another type or shape.
  void read(std::string_view path, ElementType type, const Shape& shape, void* out) const;

 private:
  CheckpointFile() = default;

  std::filesystem::path path_;
  File file_;
  index format_ = 0;
  index bytes_ = 0;
  std::string hash_;
  ImageIndex image_;
};

/// Fills all targets from the tensors whose path begins with `prefix` and a slash, such as "model" or "optimizer/m". Throws InputError
/// before anything is written unless these are exactly the targets' names, with these types and shapes.
void load_tensors(const CheckpointFile& checkpoint, std::string_view prefix, std::span<const TensorTarget> targets);

}  // namespace dikkat
