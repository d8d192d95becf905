#include "train/data/tokens/place_of_split.h"

#include <algorithm>
#include <span>

#include "train/text/hugging_face/symbols.h"
#include "train/text/utf8.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

std::string_view beginning_of(std::string_view text, index count) { return text.substr(0, static_cast<std::size_t>(count)); }

/// Returns the last place at or before byte `at` where a token begins or ends. The tokens are the text itself.
index last_border(const Tokenizer& tokenizer, std::string_view text, index at) {
  text = beginning_of(text, at + static_cast<index>(Symbols::kLongest));
  while (true) {
    try {
      index border = 0;
      for (const Token token : tokenizer.encode(text)) {
        const auto next = border + std::ssize(tokenizer.decode({&token, 1}));
        if (next > at) {
          break;
        }
        border = next;
      }
      return border;
    } catch (const EncodeError& error) {  // the text ends within a symbol, or has one that tokenize() will refuse
      text = beginning_of(text, error.offset());
    }
  }
}

/// Returns the last place at or before byte `at` that is not within a symbol.
index last_between_symbols(const Tokenizer& tokenizer, std::string_view text, index at) {
  const index stable = tokenizer.stable_prefix(beginning_of(text, at + utf8::decode(text, at).bytes));
  if (stable < at && tokenizer.is_lossless()) {
    return stable + last_border(tokenizer, text.substr(static_cast<std::size_t>(stable)), at - stable);
  }
  // A tokenizer from another program may know no such place. Its symbols have no white space either.
  return stable > 0 ? std::min(stable, at) : static_cast<index>(beginning_of(text, at).find_last_of(" \t\n") + 1);
}

}  // namespace

index place_of_split(const Tokenizer& tokenizer, std::string_view text, index at) {
  constexpr index kNear = 16;  // a line that begins in the last sixteenth is near
  const index character = utf8::snap(text, at);
  if (tokenizer.kind() != Symbols::kKind && tokenizer.kind() != WordTokenizer::kKind) {
    return character;
  }
  const index place = last_between_symbols(tokenizer, text, character);
  if (tokenizer.kind() == WordTokenizer::kKind) {  // prose has long lines, and a word ends at every space
    return place;
  }
  const auto line = static_cast<index>(beginning_of(text, place).rfind('\n') + 1);
  return line > 0 && place - line <= place / kNear && last_between_symbols(tokenizer, text, line) == line ? line : place;
}

}  // namespace dikkat
