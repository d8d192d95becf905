#pragma once

#include "train/checkpoint/header.h"
#include "train/io/file.h"

namespace dikkat {

/// What the header of a file of so many bytes says, once every byte after it has been hashed and found as it says. Throws InputError with a
/// text that goes after the file's name, Error if the disk fails.
Header pass_gate(const File& file, index bytes);

}  // namespace dikkat
