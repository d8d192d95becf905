#pragma once

#include <span>
#include <string>

#include "train/checkpoint/contents.h"
#include "train/checkpoint/dataset.h"
#include "train/io/file.h"

namespace dikkat {

// The index is what loading goes by: it lies behind the HDF5 image, under the root hash with it, and says where everything is. Its encoding
// is that of index_encoding.h. The kinds of its entries, with the value of each:
//   tensor <path>             type:text offset bytes rank extent*
//   text config|tokenizer     offset bytes
//   state <field>             number, or the bytes of a text
// A later version may add entries of its own: kinds, texts, fields, element types. It says of each whether a program that does not know it
// may leave it out. A field or text that is missing has the value of a new TrainingState, or is empty.

/// The longest index that is saved or loaded.
inline constexpr index kMaxIndexBytes = index{128} << 20;

/// Bytes of its index that a tensor or text takes at most, beside its path; and all of the state but its texts.
inline constexpr index kIndexEntryBytes = 256;
inline constexpr index kIndexStateBytes = 8192;

/// `datasets` have been written. Throws Error for an index that is longer than kMaxIndexBytes.
std::string encode_index(const TrainingState& state, std::span<const Dataset> datasets);

/// What the index says that reaches from `index_begin` to the end of the file. Throws InputError with a text that goes after the file's
/// name unless all that it names lies in the file between the header and itself, nothing above another; Error if the disk fails. Takes
/// memory by the length of index and texts, which are bounded.
Contents read_contents(const File& file, index index_begin, index file_bytes);

}  // namespace dikkat
