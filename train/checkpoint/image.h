#pragma once

#include <string>
#include <vector>

#include "autograd/base/shape.h"
#include "train/checkpoint/snapshot.h"
#include "train/io/file.h"

namespace dikkat {

// The HDF5 part of a checkpoint, after kHeaderBytes. Format 2 holds exactly this (format 1 fewer fields, format_of_field()), all of it
// contiguous, without filters, groups with compact link storage:
//   /model/<name>  /optimizer/<slab>/<name>   float32 little-endian, rank 0 to 4, row-major
//   /state/<field>   scalars: int64, uint64 or float64 little-endian, uint8 0 or 1, or a string
//   /config  /tokenizer   strings: fixed length, NUL-terminated, UTF-8

/// The longest text that is read: a save of a longer one fails, since it reads back what it wrote.
inline constexpr index kMaxTextBytes = index{128} << 20;

/// A tensor in a file.
struct StoredTensor {
  std::string path;  ///< as TensorView's
  ElementType type = ElementType::f32;
  Shape shape;
  index offset = 0;  ///< of its first byte from the beginning of the file
  index bytes = 0;
};

/// All of an image but the numbers of its tensors, which lie in the file as they are used.
struct ImageIndex {
  TrainingState state;
  std::string config;
  std::string tokenizer;
  std::vector<StoredTensor> tensors;  ///< by path
};

/// Disk space that a checkpoint of the snapshot takes at most.
index expected_bytes(const Snapshot& snapshot);

/// Makes `file` kHeaderBytes of zeros and the image of the snapshot: equal snapshots give equal bytes. Throws Error for whatever
/// goes wrong with the file, and for names of tensors that cannot be stored or occur twice.
void write_image(File& file, const Snapshot& snapshot);

/// Throws InputError with a text that goes after the file's name, for anything that is not as in the table above for that format. The image
/// may be hostile: nothing but the file is read, and memory is bounded by its size, as far as the HDF5 library holds to that. It needs no
/// thread, no lock and no state that a child process lacks.
ImageIndex parse_image(const File& file, index format);

}  // namespace dikkat
