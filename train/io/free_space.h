#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Bytes that this process may still write where `path` is, or will be made; nullopt where the file system does not say.
std::optional<index> free_space(const std::filesystem::path& path);

/// "1,493,172,224 bytes are needed, and the file system of runs/mine has 1,024 left"; empty where there is room, or nobody knows.
std::string lack_of_space(const std::filesystem::path& path, index bytes);

}  // namespace dikkat
