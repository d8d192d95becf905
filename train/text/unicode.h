#pragma once

#include <string>
#include <string_view>

/// What Unicode says of characters, beyond their UTF-8. Only for the sources of this folder, and for tests.
namespace dikkat {

/// The text in normal form C (UAX #15): a letter and its marks are one character where Unicode has one, and marks stand in their order.
/// `text` must be valid UTF-8 (this is not checked). Takes O(n log n), and O(n) but where many marks follow one letter.
std::string to_nfc(std::string_view text);

/// Whether regular expressions count the character as part of a word (\w; UTS #18, annex C): letters, marks, decimal digits, connectors.
bool is_word_character(char32_t code_point);

}  // namespace dikkat
