#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Unicode's properties of characters. This header is only for the sources of this project.
namespace dikkat {

/// Returns the text in normal form C (UAX #15). A letter and its marks become one character if Unicode has it, and marks are in canonical
/// order. `text` must be valid UTF-8 (this is not checked). Takes O(n), or O(n log n) if many marks follow one letter.
std::string to_nfc(std::string_view text);

/// The normal forms of UAX #15: composed or decomposed, and with a "k" also without the differences of compatibility characters ("ﬁ" is
/// "fi").
enum class NormalForm : std::uint8_t { c, d, kc, kd };
/// Returns the text in a normal form, as to_nfc() does.
std::string to_normal_form(std::string_view text, NormalForm form);

/// Returns whether regular expressions count the character as part of a word (\w; UTS #18, annex C): letters, marks, decimal digits and
/// connectors.
bool is_word_character(char32_t code_point);

/// Returns the character in upper, lower or title case, if that is one character (Unicode's simple mappings).
char32_t to_upper(char32_t code_point);
char32_t to_lower(char32_t code_point);
char32_t to_title(char32_t code_point);

bool is_letter(char32_t code_point);
bool is_decimal_digit(char32_t code_point);
/// Returns whether Unicode's category of the character is a number's: decimal digits, letters such as Roman numbers, and others such as ½.
bool is_number(char32_t code_point);
/// Returns whether the character is an upper, lower or title case letter.
bool is_cased(char32_t code_point);
/// Returns whether Python's str.isprintable() counts the character: neither a control, format or unassigned character, nor a separator.
bool is_printable(char32_t code_point);

}  // namespace dikkat
