#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The text of tokens that come one after another, of which bytes are given out as soon as it is certain that they belong to it: no
/// character of UTF-8 in part, and nothing that may yet turn out to be the beginning of a stop string, which ends the text before it.
/// Stop strings are looked for across the borders of tokens, and not in what stands before the text.
class TextStream {
 public:
  /// `before`: the token that the text follows, which some kinds of tokenizers part from it by a blank. Both are kept by reference.
  /// Throws InputError for a stop string that is empty.
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops, Token before);

  /// What is certain since the last call. Tokens after the stop string are no part of the text.
  std::string add(Token token);
  /// No token follows: what was held back.
  std::string finish();

  bool stopped() const { return stopped_; }
  /// All of it, what is held back included.
  const std::string& text() const { return text_; }

 private:
  std::string give(std::size_t end);

  const Tokenizer& tokenizer_;
  const std::vector<std::string>& stops_;
  Token last_;
  std::string text_;
  std::size_t given_ = 0;    // bytes
  std::size_t longest_ = 0;  // of the stop strings
  bool stopped_ = false;
};

}  // namespace dikkat
