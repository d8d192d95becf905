#pragma once

#include <algorithm>
#include <string_view>

namespace dikkat {

/// Returns whether this is a control character. None may reach a terminal through names and messages.
inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// Returns whether a name may occur in a checkpoint. A name is one part of a path, so it has no slashes.
inline bool is_storable_name(std::string_view name) {
  constexpr std::size_t kLongest = 1000;
  return !name.empty() && name.size() <= kLongest && name != "." && name.find('/') == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), is_control);
}

/// Returns whether a tensor in a checkpoint may have this path: two or more names with slashes between them, and not beginning with
/// "state/".
inline bool is_storable_path(std::string_view path) {
  if (path.find('/') == std::string_view::npos || path.starts_with("state/")) {
    return false;
  }
  for (std::size_t slash = 0; slash != std::string_view::npos;) {
    slash = path.find('/');
    if (!is_storable_name(path.substr(0, slash))) {
      return false;
    }
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return true;
}

}  // namespace dikkat
