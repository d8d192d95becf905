#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

inline constexpr std::string_view kTextExtensions[] = {".txt", ".md", ".text"};

/// The absolute paths of the files that `paths` name, in the order of `paths`. A folder stands for the text files in it and below it,
/// sorted by path: regular files that end in one of `extensions` (lower case; files may use any), hidden files and folders left out.
/// Throws InputError when there is no path, and for one that is missing, given twice, a FIFO, device or socket, or a folder without text.
std::vector<std::string> find_text_files(std::span<const std::string> paths,
                                         std::span<const std::string_view> extensions = kTextExtensions);

/// The whole file. Throws InputError when it is no regular file, cannot be read, is larger than memory, or is binary (has a NUL byte).
std::string read_text_file(const std::string& path);

}  // namespace dikkat
