#include "train/system/placeholder.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Removes a byte order mark and white space from the beginning of the text.
std::string_view skip_blanks(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

bool begins_with(std::string_view text, std::string_view lower_case) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return text.size() >= lower_case.size() && std::equal(lower_case.begin(), lower_case.end(), text.begin(),
                                                        [&](char expected, char found) { return lower(found) == expected; });
}

/// Returns the digits after "size " in a pointer; empty if there are none.
std::string size_in_pointer(std::string_view text) {
  constexpr std::string_view kSize = "\nsize ";
  const std::size_t at = text.find(kSize);
  if (at == std::string_view::npos) {
    return "";
  }
  const std::string_view rest = text.substr(at + kSize.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

}  // namespace

std::string problem_of_placeholder(std::string_view bytes) {
  constexpr std::size_t kMost = 1024;  // a pointer has about 130 bytes
  const std::string_view text = skip_blanks(bytes.substr(0, kMost));
  if (text.starts_with("version https://git-lfs.github.com/spec/") || text.starts_with("version https://hawser.github.com/spec/")) {
    const std::string size = size_in_pointer(text);
    return concat("is a Git LFS pointer in place of the file", size.empty() ? "" : concat(", which has ", size, " bytes"),
                  ": run \"git lfs install\" and \"git lfs pull\" in its repository, or download the file itself");
  }
  if (begins_with(text, "<!doctype html") || begins_with(text, "<html")) {
    return "is a web page (HTML) in place of the file: download the file itself, by its \"resolve\" or \"raw\" link";
  }
  if (text.starts_with("Entry not found") || text.starts_with("Access to model ") || text.starts_with("Invalid username or password")) {
    return concat("holds a server's answer in place of the file, \"", text.substr(0, std::min<std::size_t>(text.find('\n'), 60)),
                  "\": download the file again, after signing in if the server asks for it");
  }
  return "";
}

void require_no_placeholder(std::string_view bytes, const std::string& name) {
  const std::string problem = problem_of_placeholder(bytes);
  require_input(problem.empty(), name, ' ', problem);
}

}  // namespace dikkat
