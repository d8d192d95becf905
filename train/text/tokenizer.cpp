#include "train/text/tokenizer.h"

#include <utility>

namespace dikkat {

EncodeError::EncodeError(index offset, std::string problem, index document)
    : InputError(concat("byte ", offset, ": ", problem)), offset_(offset), document_(document), problem_(std::move(problem)) {}

std::vector<Token> Tokenizer::encode_with_special(std::string_view text) const {
  const ByteRange whole{.first = 0, .last = static_cast<index>(text.size())};
  return encode_with_markup(text, {&whole, 1});
}

std::vector<Token> Tokenizer::encode_for_model(std::string_view text) const {
  std::vector<Token> tokens = encode_with_special(text);
  const TextTokens around = text_tokens();
  if (around.before) {
    tokens.insert(tokens.begin(), *around.before);
  }
  if (around.after) {
    tokens.push_back(*around.after);
  }
  return tokens;
}

}  // namespace dikkat
