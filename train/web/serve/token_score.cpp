#include "train/web/serve/token_score.h"

#include <algorithm>

#include "train/sample/text_stream.h"

namespace dikkat::serve {

TokenScore with_texts(const ScoredToken& scored, const Tokenizer& tokenizer, std::optional<Token> before) {
  TokenScore score{.text = text_behind(tokenizer, before, scored.token), .log_probability = scored.log_probability};
  for (const auto& [token, log_probability] : scored.likeliest) {
    score.likeliest.emplace_back(text_behind(tokenizer, before, token), log_probability);
  }
  return score;
}

index count_of_characters(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace dikkat::serve
