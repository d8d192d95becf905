#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "train/sample/text_stream.h"
#include "train/web/serve/api_response.h"

namespace dikkat::serve {

/// Turns the tokens of one answer into pieces: text as TextStream returns it, and the scores of the tokens in this text.
class ChoiceText {
 public:
  /// Takes the arguments of TextStream. `offset` is the number of characters of the answer before this text.
  ChoiceText(index choice, const Tokenizer& tokenizer, std::optional<Token> before, const std::vector<std::string>& stops, index offset = 0)
      : tokenizer_(&tokenizer), text_(tokenizer, before, stops), choice_(choice), last_(before), offset_(offset) {}

  /// Adds a token. Returns a piece that may be empty.
  AnswerDelta push(Token token);
  /// Adds a token and its score.
  AnswerDelta push(const ScoredToken& scored);
  /// Returns the score of the next token, for one that ends the text and is not part of it.
  TokenScore end(const ScoredToken& scored) const;
  /// Returns the text that was held back. Call it after the last token.
  AnswerDelta finish(Ending ending);

  /// Splits the text into content, reasoning and calls. Call it before the first token.
  void set_reader(AnswerReader reader) { reader_ = std::move(reader); }
  /// Leaves the reasoning out.
  void hide_reasoning() { hides_reasoning_ = true; }

  bool stopped() const { return text_.stopped() || (reader_ && reader_->is_over()); }

 private:
  struct Waiting {
    TokenScore score;
    std::size_t begin, end;  // its bytes in the text
  };
  AnswerDelta piece_of(std::string text);
  void take(AnswerParts parts, AnswerDelta& piece) const;

  const Tokenizer* tokenizer_;
  TextStream text_;
  std::optional<AnswerReader> reader_;
  bool hides_reasoning_ = false;
  index choice_;
  std::optional<Token> last_;
  index offset_;
  std::size_t bytes_ = 0;     // bytes of all tokens
  std::size_t released_ = 0;  // bytes of text that were returned
  std::deque<Waiting> waiting_;
};

}  // namespace dikkat::serve
