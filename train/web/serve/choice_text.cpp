#include "train/web/serve/choice_text.h"

#include <algorithm>
#include <iterator>

namespace dikkat::serve {

AnswerDelta ChoiceText::push(Token token) {
  last_ = token;
  return piece_of(text_.push(token));
}

TokenScore ChoiceText::end(const ScoredToken& scored) const {
  TokenScore score = with_texts(scored, *tokenizer_, last_);
  score.offset = offset_;
  return score;
}

AnswerDelta ChoiceText::push(const ScoredToken& scored) {
  TokenScore score = end(scored);
  offset_ += count_of_characters(score.text);
  const std::size_t begin = bytes_;
  bytes_ += score.text.size();
  waiting_.push_back({std::move(score), begin, bytes_});
  return push(scored.token);
}

AnswerDelta ChoiceText::piece_of(std::string text) {
  released_ += text.size();
  AnswerDelta piece{.choice = choice_};
  if (reader_) {
    take(reader_->push(text), piece);
  } else {
    piece.text = std::move(text);
  }
  while (!waiting_.empty() && waiting_.front().end <= released_) {
    piece.tokens.push_back(std::move(waiting_.front().score));
    waiting_.pop_front();
  }
  return piece;
}

/// Adds the parts of a text to a piece.
void ChoiceText::take(AnswerParts parts, AnswerDelta& piece) const {
  piece.text += parts.content;
  piece.reasoning += hides_reasoning_ ? "" : parts.reasoning;
  std::ranges::move(parts.calls, std::back_inserter(piece.calls));
}

AnswerDelta ChoiceText::finish(Ending ending) {
  AnswerDelta piece = piece_of(text_.finish());
  if (reader_) {
    take(reader_->finish(), piece);
    piece.has_called = reader_->has_calls();
  }
  piece.ending = ending;
  for (Waiting& one : waiting_) {
    if (one.begin < released_) {  // a stop string begins within this token; later tokens have no part in the text
      piece.tokens.push_back(std::move(one.score));
    }
  }
  waiting_.clear();
  return piece;
}

}  // namespace dikkat::serve
