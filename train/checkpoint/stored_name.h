#pragma once

#include <algorithm>
#include <string_view>

namespace dikkat {

/// Characters that act on a terminal, where names and sentences end up.
inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// Whether a tensor in a checkpoint may be called so.
inline bool is_storable_name(std::string_view name) {
  return !name.empty() && name != "." && name.find('/') == std::string_view::npos && std::none_of(name.begin(), name.end(), is_control);
}

}  // namespace dikkat
