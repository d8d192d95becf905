#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Returns the bytes that this process can still write to the file system where `path` is or will be; nullopt if unknown.
std::optional<index> free_space(const std::filesystem::path& path);

/// Describes a lack of space, as in "1,493,172,224 bytes are needed, and the file system of runs/mine has 1,024 left". Empty if there is
/// enough space, or if that is unknown.
std::string lack_of_space(const std::filesystem::path& path, index bytes);

}  // namespace dikkat
