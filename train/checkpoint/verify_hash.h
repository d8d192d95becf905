#pragma once

#include "train/checkpoint/header.h"
#include "train/system/file.h"

namespace dikkat {

/// Reads the header of a checkpoint file of `bytes` bytes, hashes everything after it, and compares the hash with the header's root hash.
/// Throws InputError if they differ or the header is wrong; the message continues the file's name. Throws Error if the disk fails.
Header verify_hash(const File& file, index bytes);

/// Reads only the header, and compares the file's length with it. Throws what verify_hash() throws.
Header read_header(const File& file, index bytes);

}  // namespace dikkat
