#pragma once

#include <filesystem>
#include <string>

namespace dikkat {

/// Describes a folder that holds a model in a layout that dikkat does not read as a folder, and what to do. Such folders have Mistral's or
/// Meta's own files, a GGUF or nanoGPT file, weights without config.json, or parts of weights without their index. A folder of Hugging
/// Face's cache is one too. The text continues the name of the folder. Returns an empty string for a folder that holds none of these.
std::string other_layout_in(const std::filesystem::path& folder);

/// Throws InputError, which begins with the path, for a folder that other_layout_in() describes.
void require_no_other_layout(const std::filesystem::path& path);

}  // namespace dikkat
