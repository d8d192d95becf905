#pragma once

#include <memory>
#include <string>

#include "train/data/corpus/byte_source.h"

namespace dikkat {

/// Returns the decompressed bytes of zstd data. Throws InputError, while reading, for damaged or truncated data. Messages call the file
/// `name`.
std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace dikkat
