#pragma once

#include <deque>
#include <string>
#include <vector>

#include "train/sample/text_stream.h"
#include "train/web/serve/api_response.h"

namespace dikkat {

/// Makes pieces of the tokens of one answer, as they come: the text as TextStream gives it, and the scores of tokens with the text that
/// they are of.
class ChoiceText {
 public:
  /// `before`, and what is kept by reference, as TextStream. `offset`: characters of the answer before it.
  ChoiceText(index choice, const Tokenizer& tokenizer, const std::vector<std::string>& stops, Token before, index offset = 0)
      : tokenizer_(tokenizer), text_(tokenizer, stops, before), choice_(choice), last_(before), offset_(offset) {}

  /// The text that a token would have here.
  std::string text_of(Token token) const;
  /// Adds a token. What is returned may be empty.
  Piece add(Token token);
  /// The same, with its score, whose text and offset are filled in here.
  Piece add(Token token, TokenScore score);
  /// Call it after the last token: the text that was held back.
  Piece finish(Ending ending);

  bool stopped() const { return text_.stopped(); }

 private:
  struct Waiting {
    TokenScore score;
    std::size_t begin, end;  // bytes of the text
  };
  Piece give(std::string text);

  const Tokenizer& tokenizer_;
  TextStream text_;
  index choice_;
  Token last_;
  index offset_;
  std::size_t bytes_ = 0;  // of all tokens
  std::size_t given_ = 0;  // of text
  std::deque<Waiting> waiting_;
};

}  // namespace dikkat
