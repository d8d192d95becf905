#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// What lies in place of a file that was never downloaded, and what to do about it: a Git LFS pointer, a web page, or a server's refusal.
/// Empty if the bytes look like none of these. `bytes` needs to hold only the beginning of the file.
std::string problem_of_placeholder(std::string_view bytes);

/// Throws InputError, which begins with `name`, if the bytes are such a placeholder. Call it in every reader of files that people download.
void require_no_placeholder(std::string_view bytes, const std::string& name);

}  // namespace dikkat
