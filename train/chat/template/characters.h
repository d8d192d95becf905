#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "train/text/utf8.h"

// The characters of a text in UTF-8, which Python counts where C++ counts bytes.
namespace dikkat::jinja {

/// Returns the byte after the character that begins at byte `at` < text.size().
inline std::size_t next_character(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80 ? at + 1
                                                     : at + static_cast<std::size_t>(utf8::decode(text, static_cast<index>(at)).bytes);
}

inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    at = next_character(text, at);
  }
  return count;
}

/// Returns the byte at which a character begins; the text's size if it has fewer characters.
inline std::size_t character_offset(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (; character > 0 && at < text.size(); --character) {
    at = next_character(text, at);
  }
  return at;
}

/// Returns the byte at which `wanted` first stands at or after byte `from`; npos if it does not. Takes time in proportion to the texts'
/// sizes, which std::string_view::find() does not promise.
inline std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from = 0) {
  if (from > text.size()) {
    return std::string_view::npos;
  }
  const void* const found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

/// Returns whether Python's str.isspace() counts the character as white space: Unicode's, and four separators of ASCII.
inline bool is_python_space(char32_t c) { return (0x1C <= c && c <= 0x1F) || utf8::is_white_space(c); }

}  // namespace dikkat::jinja
