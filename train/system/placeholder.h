#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// Recognizes a placeholder of a file that was never downloaded: a Git LFS pointer, a web page, or a server's refusal. Returns what it is
/// and what to do about it; empty for other bytes. `bytes` is the beginning of the file.
std::string problem_of_placeholder(std::string_view bytes);

/// Throws InputError if the bytes are such a placeholder; the message begins with `name`. Every reader of downloaded files should call
/// this.
void require_no_placeholder(std::string_view bytes, const std::string& name);

}  // namespace dikkat
