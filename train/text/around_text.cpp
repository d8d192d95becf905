#include "train/text/around_text.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

std::optional<Token> added_token(const AddedTokens& added, std::string_view name) {
  const auto found = std::find_if(added.begin(), added.end(), [&](const auto& token) { return token.second.name == name; });
  return found == added.end() ? std::nullopt : std::optional(found->first);
}

std::optional<Token> separator_of(const AddedTokens& added, const TextTokens& around) {
  for (const std::string_view name : {kEndOfText, std::string_view("<|end_of_text|>")}) {
    if (const auto id = added_token(added, name); id && added.at(*id).special) {
      return id;
    }
  }
  return around.eos;
}

TextTokens all_text_tokens(const AddedTokens& added, const TextTokens& around) {
  TextTokens all = around;
  const std::optional<Token> separator = separator_of(added, around);
  const auto or_else = [](std::optional<Token> first, std::optional<Token> second) { return first ? first : second; };
  all.bos = or_else(all.bos, or_else(all.before, separator));
  all.eos = or_else(all.eos, or_else(all.after, separator));
  for (const std::optional<Token> end : {all.eos, separator}) {
    if (end && std::find(all.ends.begin(), all.ends.end(), *end) == all.ends.end()) {
      all.ends.push_back(*end);
    }
  }
  return all;
}

void require_added(const AddedTokens& added, const TextTokens& around) {
  const auto require_one = [&](std::optional<Token> id, const char* what) {
    require_input(!id || added.contains(*id), "bpe tokenizer: the token ", id.value_or(0), " is given as ", what,
                  ", but it is not an added token");
  };
  require_one(around.bos, "bos");
  require_one(around.eos, "eos");
  require_one(around.before, "the one before a text");
  require_one(around.after, "the one after a text");
  for (const Token end : around.ends) {
    require_one(end, "an end of texts");
  }
}

std::vector<SpecialToken> special_tokens_of(const AddedTokens& added) {
  std::vector<SpecialToken> special;
  for (const auto& [id, token] : added) {
    if (token.special) {
      special.push_back({.id = id, .name = token.name});
    }
  }
  return special;
}

std::vector<Token> encode_whole(const Tokenizer& tokenizer, std::string_view text) {
  const TextTokens around = tokenizer.text_tokens();
  std::vector<Token> tokens = tokenizer.encode(text);
  if (around.before) {
    tokens.insert(tokens.begin(), *around.before);
  }
  if (around.after) {
    tokens.push_back(*around.after);
  }
  return tokens;
}

}  // namespace dikkat
