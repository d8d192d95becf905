#pragma once

#include <string_view>

#include "train/system/in_quotes.h"
#include "train/text/characters.h"

/// Divides texts into words, which are separated by Unicode white space. This header is private to its folder.
namespace dikkat {

inline constexpr std::string_view kLineBreak = "\n";

/// Calls f(word) for every word, a view into the text. With `line_breaks`, each "\n" is a word too. Throws EncodeError for text that is not
/// UTF-8.
template <class F>
void for_words(std::string_view text, bool line_breaks, F&& f) {
  constexpr index kNone = -1;
  index start = kNone;  // where the current word starts
  const auto end_word = [&](index at) {
    if (start != kNone) {
      f(text.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(at - start)));
      start = kNone;
    }
  };
  for_characters(text, [&](char32_t code_point, index at) {
    if (!utf8::is_white_space(code_point)) {
      start = start == kNone ? at : start;
      return;
    }
    end_word(at);
    if (line_breaks && code_point == '\n') {
      f(text.substr(static_cast<std::size_t>(at), 1));
    }
  });
  end_word(static_cast<index>(text.size()));
}

/// Does what for_words() does, but throws EncodeError for white space that the words do not bring back: anything but one space between two
/// words and none next to a line break. A text may begin and end with a space, because parts of a text do.
template <class F>
void for_spaced_words(std::string_view text, bool line_breaks, F&& f) {
  std::size_t end = 0;  // where the last word ends
  bool is_after_break = false;
  const auto check_gap = [&](std::size_t next, bool is_break) {
    const std::string_view gap = text.substr(end, next - end);
    if (!gap.empty() && (gap != " " || is_break || is_after_break)) {
      throw EncodeError(static_cast<index>(end), concat("the white space ", in_quotes(gap),
                                                        ", expected one space between two symbols, and none next to a line break"));
    }
  };
  for_words(text, line_breaks, [&](std::string_view word) {
    const auto at = static_cast<std::size_t>(word.data() - text.data());
    const bool is_break = word == kLineBreak;
    check_gap(at, is_break);
    f(word);
    end = at + word.size();
    is_after_break = is_break;
  });
  check_gap(text.size(), false);
}

/// Returns the number of bytes up to and including the last white space.
index stable_words(std::string_view text);
/// Returns the number of bytes before the last space or line break that follows a word: for_spaced_words() accepts both parts if it accepts
/// the text.
index stable_spaced_words(std::string_view text);

/// Returns whether a text is one word, which may be "\n". Throws EncodeError for text that is not UTF-8.
bool is_one_word(std::string_view text);

}  // namespace dikkat
