#include "train/text/tokenizer_kinds.h"

#include <nlohmann/json.hpp>

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

std::unique_ptr<Tokenizer> make_longest_tokenizer(std::vector<std::string> symbols, SymbolPlaces places, AddedTokens added) {
  std::u32string characters;  // those of the first symbols, as long as they are single and in order
  for (const std::string& symbol : symbols) {
    const utf8::Character one = symbol.empty() ? utf8::Character() : utf8::decode(symbol, 0);
    if (one.fault != utf8::Fault::none || one.bytes != std::ssize(symbol) || (!characters.empty() && characters.back() >= one.code_point)) {
      break;
    }
    characters += one.code_point;
  }
  if (added.empty() && !characters.empty() && characters.size() == symbols.size()) {
    return std::make_unique<CharTokenizer>(std::move(characters));
  }
  return std::make_unique<PipelineTokenizer>(symbol_pipeline(std::move(symbols), SymbolSplit::longest, places, std::move(added)));
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) { return tokenizer_in(parse_tokenizer(json)); }

std::unique_ptr<Tokenizer> tokenizer_in(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  const bool is_hugging_face = fields.find("model") != nullptr;  // our own JSON has a "kind" instead
  const std::string name = is_hugging_face ? std::string(BpeTokenizer::kKind) : fields.text("kind");
  return tokenizer_kind(name, "tokenizer: the kind in its description").from_json(json);
}

}  // namespace dikkat
