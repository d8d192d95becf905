#include "train/web/serve/choice_text.h"

#include <algorithm>
#include <array>

namespace dikkat {
namespace {

/// Returns the number of bytes that begin a character.
index characters(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace

std::string ChoiceText::text_of(Token token) const {
  const std::array both = {last_, token};
  return tokenizer_->decode(both).substr(tokenizer_->decode(std::span(both).first(1)).size());
}

Piece ChoiceText::push(Token token) {
  last_ = token;
  return piece_of(text_.push(token));
}

Piece ChoiceText::push(Token token, TokenScore score) {
  score.text = text_of(token);
  score.offset = offset_;
  offset_ += characters(score.text);
  const std::size_t begin = bytes_;
  bytes_ += score.text.size();
  waiting_.push_back({std::move(score), begin, bytes_});
  return push(token);
}

Piece ChoiceText::piece_of(std::string text) {
  released_ += text.size();
  Piece piece{.choice = choice_, .text = std::move(text)};
  while (!waiting_.empty() && waiting_.front().end <= released_) {
    piece.tokens.push_back(std::move(waiting_.front().score));
    waiting_.pop_front();
  }
  return piece;
}

Piece ChoiceText::finish(Ending ending) {
  Piece piece = piece_of(text_.finish());
  piece.ending = ending;
  for (Waiting& one : waiting_) {
    if (one.begin < released_) {  // a stop string begins within this token; later tokens have no part in the text
      piece.tokens.push_back(std::move(one.score));
    }
  }
  waiting_.clear();
  return piece;
}

}  // namespace dikkat
