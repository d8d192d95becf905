#pragma once

#include <span>
#include <string>

#include "train/checkpoint/contents.h"
#include "train/checkpoint/dataset.h"
#include "train/system/file.h"

namespace dikkat {

// The index of a checkpoint. It follows the HDF5 image, is covered by the root hash, and says where everything is; loading uses only the
// index. index_encoding.h has its encoding. The kinds of entries, with their values:
//   tensor <path>             type:text offset bytes rank extent*
//   text config|tokenizer     offset bytes
//   state <field>             number, or the bytes of a text
// A later version may add entries: kinds, texts, fields, element types. Each entry says whether a program that does not know it may ignore
// it. A field that is missing has the value of a new TrainingState; a text that is missing is empty.

/// The longest index that is saved or loaded.
inline constexpr index kMaxIndexBytes = index{128} << 20;

/// Most bytes of the index for a tensor or text, besides its path; and for the whole state, besides its texts.
inline constexpr index kIndexEntryBytes = 256;
inline constexpr index kIndexStateBytes = 8192;

/// `datasets` must have their offsets. Throws Error for an index that is longer than kMaxIndexBytes.
std::string encode_index(const TrainingState& state, std::span<const Dataset> datasets);

/// Reads the index, which reaches from `index_begin` to the end of the file, and the texts. Throws InputError, with a message to put after
/// the file's name, if anything in it is malformed, lies outside of the file's image or overlaps; Error if the disk fails. Memory is
/// bounded by the maximum lengths of index and texts.
Contents read_contents(const File& file, index index_begin, index file_bytes);

}  // namespace dikkat
