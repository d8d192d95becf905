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

std::optional<Token> BpeVocabulary::separator() const {
  for (const std::string_view name : {kEndOfText, std::string_view("<|end_of_text|>")}) {
    if (const auto id = added_token(name); id && added_tokens.at(*id).special) {
      return id;
    }
  }
  return text_tokens.eos;
}

TextTokens BpeVocabulary::all_text_tokens() const {
  TextTokens all = text_tokens;
  const auto or_else = [](std::optional<Token> first, std::optional<Token> second) { return first ? first : second; };
  all.bos = or_else(all.bos, or_else(all.before, separator()));
  all.eos = or_else(all.eos, or_else(all.after, separator()));
  for (const std::optional<Token> end : {all.eos, separator()}) {
    if (end && std::find(all.ends.begin(), all.ends.end(), *end) == all.ends.end()) {
      all.ends.push_back(*end);
    }
  }
  return all;
}

std::optional<Token> BpeVocabulary::added_token(std::string_view name) const {
  const auto found = std::find_if(added_tokens.begin(), added_tokens.end(), [&](const auto& token) { return token.second.name == name; });
  return found == added_tokens.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace dikkat
