#pragma once

#include "train/checkpoint/header.h"
#include "train/system/file.h"

namespace dikkat {

/// Reads the header of a file of `bytes` bytes, hashes everything after it and compares with the root hash. Throws InputError, with a
/// message to put after the file's name, if they differ; Error if the disk fails.
Header verify_hash(const File& file, index bytes);

/// Reads the header alone, and compares the file's length with it. Throws as verify_hash().
Header read_header(const File& file, index bytes);

}  // namespace dikkat
