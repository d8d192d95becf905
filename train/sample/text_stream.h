#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the text that a token adds after another one, including the blank that some tokenizers put between them. Without `before`, the
/// token begins a text; a first blank that the tokenizer put there is left out.
std::string text_behind(const Tokenizer& tokenizer, std::optional<Token> before, Token token);

/// Turns tokens into text, one after another, and returns bytes as soon as they are final. They are never part of a UTF-8 character or the
/// possible beginning of a stop string. A stop string ends the text and is not part of it. It may span several tokens, but is not searched
/// for in the prompt.
class TextStream {
 public:
  /// `before` is the token before the text (text_behind()). Keeps a reference to the tokenizer. Throws InputError for an empty stop string.
  TextStream(const Tokenizer& tokenizer, std::optional<Token> before, std::vector<std::string> stops = {});

  /// Adds a token and returns the bytes that have become final. Tokens after a stop string are ignored.
  std::string push(Token token);
  /// Returns the text that was held back. Call it after the last token.
  std::string finish();

  /// Returns whether the text has ended at a stop string.
  bool stopped() const { return stopped_; }
  /// Returns all of the text, including bytes that are held back.
  const std::string& text() const { return text_; }

 private:
  std::string release(std::size_t end);

  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::optional<Token> last_;
  std::string text_;
  std::size_t released_ = 0;      // bytes that were returned
  std::size_t longest_stop_ = 0;  // bytes of the longest stop string
  bool stopped_ = false;
};

}  // namespace dikkat
