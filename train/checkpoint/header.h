#pragma once

#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "train/hash/sha256.h"

namespace dikkat {

/// A checkpoint is a block of kHeaderBytes, which HDF5 calls the user block and skips, then an HDF5 image, then the index by which dikkat
/// reads it.
inline constexpr index kHeaderBytes = 4096;
/// The format that this program writes, and the only one that it reads. What a later version adds to the index needs no other
/// (checkpoint_index.h); another header or another encoding of the index would. Formats 1 and 2 were never released.
inline constexpr index kFormat = 3;

/// What the first kHeaderBytes say.
struct Header {
  index format = kFormat;
  index length = 0;  ///< bytes of the whole file
  index step = 0;
  index index_begin = 0;  ///< where the index begins, which reaches to the end of the file
  Digest root{};          ///< root hash of all bytes after the header
};

/// The kHeaderBytes of the block: lines of text for a person with `head -c 4096`, NULs, and at the very end 64 hex digits, the
/// sha256 of all bytes before them. The first two lines and the place of the hash hold for every format.
std::string render_header(const Header& header);

/// Throws InputError with a text that goes after the file's name, such as "is not a dikkat checkpoint". `block` is the
/// beginning of the file, all of it where it is shorter than kHeaderBytes.
Header parse_header(std::string_view block);

}  // namespace dikkat
