#pragma once

#include <string>
#include <string_view>

/// Unicode's properties of characters. This header is only for the sources of this folder and for tests.
namespace dikkat {

/// Returns the text in normal form C (UAX #15): a letter and its marks become one character if Unicode has it, and marks are in canonical
/// order. `text` must be valid UTF-8 (this is not checked). Takes O(n), or O(n log n) if many marks follow one letter.
std::string to_nfc(std::string_view text);

/// Returns whether regular expressions count the character as part of a word (\w; UTS #18, annex C): letters, marks, decimal digits and
/// connectors.
bool is_word_character(char32_t code_point);

}  // namespace dikkat
