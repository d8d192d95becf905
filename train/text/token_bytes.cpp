#include "train/text/token_bytes.h"

namespace dikkat {

TokenBytes::TokenBytes(const Tokenizer& tokenizer) {
  sizes_.reserve(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
    sizes_.push_back(static_cast<index>(tokenizer.decode_inside(std::span(&id, 1)).size()));
  }
  const auto is_special = [&](Token id) { sizes_.at(static_cast<std::size_t>(id)) = 0; };
  for (const SpecialToken& token : tokenizer.special_tokens()) {
    is_special(token.id);
  }
  if (const auto separator = tokenizer.separator()) {
    is_special(*separator);
  }
  if (const auto marks = tokenizer.sequence_tokens()) {
    is_special(marks->pad);
    is_special(marks->start);
    is_special(marks->end);
  }
}

index TokenBytes::of(std::span<const Token> tokens) const {
  index sum = 0;
  for (const Token token : tokens) {
    sum += of(token);
  }
  return sum;
}

}  // namespace dikkat
