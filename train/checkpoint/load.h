#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/checkpoint/contents.h"
#include "train/system/file.h"

namespace dikkat {

/// An open checkpoint, of which every byte has been verified.
class CheckpointFile {
 public:
  /// Opens a file and verifies all of it, as `dikkat verify` does: hashes every byte, then reads the index. The file may come from anybody,
  /// so it never reaches the HDF5 library, and memory is bounded. Throws InputError, with path and reason, for a file that is missing,
  /// foreign, truncated, altered, newer, malformed or malicious; Error if the disk fails.
  static CheckpointFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  index format() const { return format_; }
  index bytes() const { return bytes_; }
  /// Returns the root hash of everything after the header, 64 hexadecimal digits. Checkpoints with equal contents have equal hashes.
  const std::string& hash() const { return hash_; }

  const TrainingState& state() const { return contents_.state; }
  const std::string& config() const { return contents_.config; }
  const std::string& tokenizer() const { return contents_.tokenizer; }
  /// Returns all tensors, sorted by path.
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

/// Throws InputError unless the checkpoint has a language model with its configuration and tokenizer, as dikkat's commands save it. A
/// program may save a model of its own (train/library/checkpoint.h), which only that program can use.
void require_language_model(const CheckpointFile& checkpoint);

/// Reads only the header and index of a checkpoint, which is fast even for a large file. It does not check whether the tensors are intact.
/// Throws what CheckpointFile::open() throws for the parts that it reads.
Contents read_index(const std::filesystem::path& path);

/// Loads all tensors whose path begins with `prefix` (such as "model" or "optimizer/m") and a slash. Throws InputError, before it writes
/// anything, unless these are exactly `tensors`, with these types and shapes. Calls `loaded` with the place of each in `tensors` as soon as
/// its memory is filled.
void load_tensors(const CheckpointFile& checkpoint, std::string_view prefix, std::span<const TensorView> tensors,
                  const std::function<void(std::size_t)>& loaded = {});

}  // namespace dikkat
