#include "train/text/tokenizer_kinds.h"

#include <nlohmann/json.hpp>

#include "train/text/hugging_face/word_level.h"
#include "train/text/tokenizer_json.h"
#include "train/text/utf8.h"

namespace dikkat {

std::string tokenizer_names_in_words() {
  std::string text;
  for (const std::string_view name : kTokenizerNames) {
    text += concat(text.empty() ? "" : name == std::ranges::end(kTokenizerNames)[-1] ? " or " : ", ", name);
  }
  return text;
}

const TokenizerKind& tokenizer_kind(std::string_view name, std::string_view what) {
  std::string known;
  for (const TokenizerKind& kind : kTokenizerKinds) {
    if (kind.name == name) {
      return kind;
    }
    known += concat(known.empty() ? "\"" : ", \"", kind.name, '"');
  }
  fail_input(what, " is \"", name, "\", expected one of ", known);
}

std::unique_ptr<TokenizerMaker> make_tokenizer_maker(const TokenizerOptions& options) {
  return tokenizer_kind(options.kind, "tokenizer.kind").maker(options);
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) { return tokenizer_in(parse_tokenizer(json)); }

std::unique_ptr<Tokenizer> tokenizer_in(const TokenizerJson& json) {
  if (is_word_level(json.object)) {
    return word_level_in(json);
  }
  const JsonFields fields = json.fields();
  const bool is_hugging_face = fields.find("model") != nullptr;  // our own JSON has a "kind" instead
  const std::string name = is_hugging_face ? std::string(BpeTokenizer::kKind) : fields.text("kind");
  return tokenizer_kind(name, "tokenizer: the kind in its description").from_json(json);
}

std::unique_ptr<Tokenizer> make_symbol_tokenizer(SymbolVocabulary vocabulary, SymbolPlaces places) {
  if (auto words = WordTokenizer::with(vocabulary)) {
    return words;
  }
  // Characters in ascending order, without special tokens, are those of a character tokenizer.
  std::u32string characters;
  for (const std::string& symbol : vocabulary.symbols) {
    const utf8::Character one = symbol.empty() ? utf8::Character{} : utf8::decode(symbol, 0);
    if (one.bytes == std::ssize(symbol) && one.fault == utf8::Fault::none && (characters.empty() || characters.back() < one.code_point)) {
      characters += one.code_point;
    }
  }
  const bool are_characters = vocabulary.special.empty() && !characters.empty() && characters.size() == vocabulary.symbols.size();
  if (vocabulary.split == SymbolSplit::longest && are_characters) {
    return std::make_unique<CharTokenizer>(std::move(characters));
  }
  return std::make_unique<SymbolTokenizer>(std::move(vocabulary), places);
}

}  // namespace dikkat
