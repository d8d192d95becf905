#include "train/sample/prompt.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

Vocabulary vocabulary_of(const Tokenizer& tokenizer, bool until_end) {
  Vocabulary vocabulary{.size = tokenizer.vocab_size(), .suppressed = tokenizer.suppressed_tokens()};
  if (until_end) {
    vocabulary.ends = tokenizer.text_tokens().ends;
    if (const auto separator = tokenizer.separator(); separator && vocabulary.ends.empty()) {
      vocabulary.ends.push_back(*separator);
    }
  }
  return vocabulary;
}

Vocabulary answer_vocabulary(const Tokenizer& tokenizer, std::optional<Token> end, std::vector<Token> marks) {
  Vocabulary vocabulary = vocabulary_of(tokenizer);
  if (end) {
    vocabulary.ends.push_back(*end);
    marks.push_back(*end);
  }
  std::erase_if(vocabulary.suppressed, [&](Token token) { return std::ranges::find(marks, token) != marks.end(); });
  return vocabulary;
}

std::vector<Token> default_prompt(const Tokenizer& tokenizer) {
  if (const std::optional<Token> before = tokenizer.text_tokens().before) {
    return {*before};
  }
  try {
    std::vector<Token> line_break = tokenizer.encode("\n");
    if (tokenizer.decode(line_break) == "\n") {
      return line_break;
    }
  } catch (const EncodeError&) {
  }
  return {tokenizer.separator().value_or(0)};
}

std::vector<Token> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt, SpecialNames names) {
  try {
    std::vector<Token> tokens = names == SpecialNames::tokens ? tokenizer.encode_with_special(prompt) : tokenizer.encode(prompt);
    const std::optional<Token> before = tokenizer.text_tokens().before;
    if (before && (tokens.empty() || tokens.front() != *before)) {
      tokens.insert(tokens.begin(), *before);
    }
    require_input(!tokens.empty(), "the prompt is empty, expected one token or more to continue");
    return tokens;
  } catch (const EncodeError& e) {
    fail_input("prompt: ", e.what());
  }
}

std::optional<Token> token_before_text(const Tokenizer& tokenizer, std::span<const Token> prompt) {
  const bool begins = prompt.empty() || (prompt.size() == 1 && prompt.front() == tokenizer.text_tokens().before);
  return begins ? std::nullopt : std::optional(prompt.back());
}

std::optional<Token> token_before_restricted(const Tokenizer& tokenizer, std::span<const Token> prompt) {
  return prompt.empty() || tokenizer.puts_spaces_between() ? std::nullopt : std::optional(prompt.back());
}

}  // namespace dikkat
