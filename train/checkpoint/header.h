#pragma once

#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "train/system/sha256.h"

namespace dikkat {

/// The size of the header in bytes. A checkpoint begins with the header, which HDF5 calls the user block and skips. Then come the HDF5
/// image, and the index that dikkat reads.
inline constexpr index kHeaderBytes = 4096;
/// The format that this program writes, and the only one that it reads. New entries in the index need no new format (checkpoint_index.h);
/// another header or another encoding of the index would need one. Formats 1 and 2 were never released.
inline constexpr index kFormat = 3;

/// The contents of the header.
struct Header {
  index format = kFormat;
  index length = 0;  ///< length of the whole file, in bytes
  index step = 0;
  index index_begin = 0;  ///< offset of the index, which reaches to the end of the file
  Digest root{};          ///< root hash of all bytes after the header
};

/// Returns the kHeaderBytes of the header: lines of text, which `head -c 4096` shows, NULs, and 64 hex digits. These are the sha256 of all
/// bytes before them. The first two lines and the position of the hash are the same in every format.
std::string render_header(const Header& header);

/// Parses a header. `block` is the first kHeaderBytes of the file, or all of a shorter file. Throws InputError, whose message continues the
/// file's name: "is not a dikkat checkpoint".
Header parse_header(std::string_view block);

}  // namespace dikkat
