#include "train/text/bpe_vocabulary.h"

#include <algorithm>

#include "train/text/byte_level.h"

namespace dikkat {

index BpeVocabulary::size() const {
  const auto of_text = static_cast<index>(bpe.tokens().size());
  return added_tokens.empty() ? of_text : std::max<index>(of_text, added_tokens.rbegin()->first + index{1});
}

std::string BpeVocabulary::text_of(Token id) const {
  const auto added = added_tokens.find(id);
  return added != added_tokens.end() ? added->second.name : byte_level::to_text(bpe.tokens()[static_cast<std::size_t>(id)]);
}

TokenType BpeVocabulary::type_of(Token id) const {
  const auto added = added_tokens.find(id);
  return added == added_tokens.end() ? TokenType::text : added->second.special ? TokenType::special : TokenType::added;
}

std::vector<std::pair<std::string, std::string>> BpeVocabulary::merge_texts() const {
  std::vector<std::pair<std::string, std::string>> texts;
  texts.reserve(bpe.merges().size());
  for (const Merge& merge : bpe.merges()) {
    texts.emplace_back(text_of(merge.left), text_of(merge.right));
  }
  return texts;
}

std::optional<Token> BpeVocabulary::separator() const { return separator_of(added_tokens, text_tokens); }

TextTokens BpeVocabulary::all_text_tokens() const { return dikkat::all_text_tokens(added_tokens, text_tokens); }

std::optional<Token> BpeVocabulary::added_token(std::string_view name) const { return dikkat::added_token(added_tokens, name); }

}  // namespace dikkat
