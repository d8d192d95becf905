#pragma once

#include <span>
#include <string>
#include <vector>

namespace dikkat {

/// The absolute paths of the files that `paths` name, in the order of `paths`. A folder stands for the text files in it and below it,
/// sorted by path: regular files that end in .txt, .md or .text (in any case), hidden files and folders left out.
/// Throws InputError when there is no path, and for one that is missing, given twice, a FIFO, device or socket, or a folder without text.
std::vector<std::string> find_text_files(std::span<const std::string> paths);

/// The whole file. Throws InputError when it is no regular file, cannot be read, is larger than memory, or is binary (has a NUL byte).
std::string read_text_file(const std::string& path);

}  // namespace dikkat
