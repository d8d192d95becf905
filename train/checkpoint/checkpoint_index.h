#pragma once

#include <span>
#include <string>

#include "train/checkpoint/contents.h"
#include "train/checkpoint/dataset.h"
#include "train/system/file.h"

namespace dikkat {

// A checkpoint's index lies after the HDF5 image, and the root hash covers it. It lists where everything is in the file; loading uses only
// the index. index_encoding.h has its encoding. The kinds of entries, with their values:
//   tensor <path>             type:text offset bytes rank extent*
//   text config|tokenizer     offset bytes
//   state <field>             number, or the bytes of a text
// A later version may add entries: kinds, texts, fields, element types. Each entry states whether a program that does not know it may
// ignore it. A missing field has the value of a new TrainingState; a missing text is empty.

/// The longest index that is saved or loaded.
inline constexpr index kMaxIndexBytes = index{128} << 20;

/// The most bytes that the index takes for a tensor or text, not counting its path; and for the whole state, not counting its texts.
inline constexpr index kIndexEntryBytes = 256;
inline constexpr index kIndexStateBytes = 8192;

/// Encodes the index. `datasets` must have their offsets. Throws Error if the index would be longer than kMaxIndexBytes.
std::string encode_index(const TrainingState& state, std::span<const StoredDataset> datasets);

/// Reads the texts and the index, which begins at `index_begin` and ends with the file. Throws InputError if anything in the index is
/// malformed, lies outside of the file's image or overlaps. The message continues the file's name. Throws Error if the disk fails. Memory
/// is bounded by the maximum lengths of index and texts.
Contents read_contents(const File& file, index index_begin, index file_bytes);

}  // namespace dikkat
