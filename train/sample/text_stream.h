#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Turns tokens that come one after another into text, and gives out bytes as soon as they are certain: never part of a UTF-8 character,
/// and nothing that may be the beginning of a stop string. A stop string ends the text, and is not part of it. It may span several tokens,
/// and is not looked for in the prompt.
class TextStream {
 public:
  /// `before`: the token that the text follows, which some kinds of tokenizers part from it by a blank. Both are kept by reference.
  /// Throws InputError for a stop string that is empty.
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops, Token before);

  /// What is certain since the last call. Tokens after the stop string are no part of the text.
  std::string add(Token token);
  /// After the last token: the text that was held back.
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
