#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

/// Strict UTF-8: exactly what RFC 3629 and table 3-7 of the Unicode standard call well-formed. Offsets are in bytes.
namespace dikkat::utf8 {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;
inline constexpr char32_t kReplacement = 0xFFFD;

/// Returns whether a number is a Unicode scalar value: a code point that is not a surrogate.
constexpr bool is_character(char32_t code_point) { return code_point < 0xD800 || (code_point > 0xDFFF && code_point <= kLastCodePoint); }

struct Range {
  char32_t first, last;
};

/// The code points with the property White_Space: Unicode 15.1, PropList.txt; unchanged since 6.3.
inline constexpr Range kWhiteSpace[] = {
    {0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

constexpr bool is_white_space(char32_t code_point) {
  for (const Range range : kWhiteSpace) {
    if (code_point <= range.last) {
      return code_point >= range.first;
    }
  }
  return false;
}

/// The reason why there is no valid character at an offset.
enum class Fault : std::uint8_t {
  none,
  stray,        ///< a continuation byte without a first byte
  foreign,      ///< a byte that never occurs in UTF-8: C0, C1, F5 to FF
  overlong,     ///< more bytes than the code point needs
  surrogate,    ///< U+D800 to U+DFFF
  too_large,    ///< above U+10FFFF
  interrupted,  ///< a continuation byte is missing
  cut_off,      ///< the text ends within the character
};

/// The character at an offset. With a fault, code_point is 0 and `bytes` counts the bytes up to the fault: at least 1, and never past the
/// end.
struct Character {
  char32_t code_point = 0;
  index bytes = 0;
  Fault fault = Fault::none;
};

/// Decodes the character at byte `at`, 0 <= at < text.size().
Character decode(std::string_view text, index at);

/// Returns the offset of the first byte that is not UTF-8, or nullopt.
std::optional<index> first_invalid(std::string_view text);

/// Describes the fault that decode() found at an offset, for error messages: `0xC0, a byte that never occurs in UTF-8`.
std::string describe_fault(std::string_view text, index at);

/// Describes the fault and what to do about it: `not UTF-8: 0xC0, ...; the text looks like KOI8-R; convert it to UTF-8 (iconv ...)`.
std::string refusal(std::string_view text, index at);

/// Appends the bytes of a code point. Throws Error unless is_character().
void append(std::string& out, char32_t code_point);

/// Appends `text` and replaces invalid UTF-8 by U+FFFD: one for each maximal subpart, as the Unicode standard (3.9, "substitution of
/// maximal subparts") recommends and browsers do. Returns the number of replacements.
index append_valid(std::string& out, std::string_view text);

/// Returns `U+00E9 'é'`, or only `U+0007` if the character is invisible or could disturb a terminal.
std::string name_of(char32_t code_point);

/// Returns the last character boundary at or before byte `at`, 0 <= at <= text.size(); `at` if the text is not UTF-8 there.
index snap(std::string_view text, index at);

/// Returns the number of bytes at the end (0 to 3) that are the beginning of a character. Callers that print text as it comes hold these
/// back.
index incomplete_tail(std::string_view text);

}  // namespace dikkat::utf8
