#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/image.h"

namespace dikkat {

/// Where a tensor of a checkpoint is to go: shape.size() floats, row-major.
struct TensorTarget {
  std::string name;
  Shape shape;
  float* data = nullptr;
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
  /// Of all groups, by group and then by name.
  const std::vector<StoredTensor>& tensors() const { return image_.tensors; }

  /// Fills out[expected.size()]. Throws InputError if there is no such tensor or it has another shape.
  void read(TensorGroup group, const std::string& name, const Shape& expected, float* out) const;

 private:
  CheckpointFile() = default;

  std::filesystem::path path_;
  File file_;
  index format_ = 0;
  index bytes_ = 0;
  std::string hash_;
  ImageIndex image_;
};

/// Fills all targets from the group. Throws InputError before anything is written unless the group holds exactly these names
/// with these shapes.
void load_tensors(const CheckpointFile& checkpoint, TensorGroup group, std::span<const TensorTarget> targets);

}  // namespace dikkat
