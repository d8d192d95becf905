#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Bytes that this process can still write to the file system where `path` is or will be; nullopt if that is not known.
std::optional<index> free_space(const std::filesystem::path& path);

/// "1,493,172,224 bytes are needed, and the file system of runs/mine has 1,024 left"; empty if there is enough space, or that is not known.
std::string lack_of_space(const std::filesystem::path& path, index bytes);

}  // namespace dikkat
