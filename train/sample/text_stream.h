#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Turns tokens that come one after another into text, and returns bytes as soon as they are final: never part of a UTF-8 character, and
/// nothing that may be the beginning of a stop string. A stop string ends the text and is not part of it. It may span several tokens. It is
/// not searched for in the prompt.
class TextStream {
 public:
  /// `before`: the token before the text; some tokenizers decode a blank between it and the text. `tokenizer` and `stops` are kept by
  /// reference. Throws InputError for an empty stop string.
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stops, Token before);

  /// Adds a token and returns the bytes that have become final. Tokens after the stop string are ignored.
  std::string add(Token token);
  /// Call it after the last token: returns the text that was held back.
  std::string finish();

  bool stopped() const { return stopped_; }
  /// All of the text, including what is held back.
  const std::string& text() const { return text_; }

 private:
  std::string give(std::size_t end);

  const Tokenizer& tokenizer_;
  const std::vector<std::string>& stops_;
  Token last_;
  std::string text_;
  std::size_t given_ = 0;    // bytes that were returned
  std::size_t longest_ = 0;  // bytes of the longest stop string
  bool stopped_ = false;
};

}  // namespace dikkat
