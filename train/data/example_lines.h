#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// The number of files that were read, and of bytes in them.
struct ExampleFiles {
  index files = 0, bytes = 0;
};

/// Calls f(line, place) for each line that is not blank of .jsonl files, which may be compressed, in the order of files and lines. A place
/// reads "FILE: line 7". f may throw BadJson or InputError, which then name the place. Throws InputError for files that cannot be read, and
/// for a file that is not .jsonl; `otherwise` continues that refusal.
ExampleFiles for_example_lines(std::span<const std::string> paths, const char* otherwise,
                               const std::function<void(std::string_view line, const std::string& place)>& f);

}  // namespace dikkat
