#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "train/choices/tokenizer.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/tokenizer_maker.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {

/// A kind of tokenizer: its name in configurations, and the functions that make it from a corpus and read it from its JSON.
struct TokenizerKind {
  std::string_view name;
  std::unique_ptr<TokenizerMaker> (*maker)(const TokenizerOptions& options);
  std::unique_ptr<Tokenizer> (*from_json)(const TokenizerJson& json);
  bool any_bytes;  // whether it encodes every string of bytes; for other kinds a corpus must be text
};

template <class T>
constexpr TokenizerKind kind_of() {
  return {T::kKind, T::maker, T::from_json, T::kAnyBytes};
}

/// All kinds. To add a tokenizer, add its class here.
inline constexpr TokenizerKind kTokenizerKinds[] = {
    kind_of<ByteTokenizer>(), kind_of<CharTokenizer>(), kind_of<WordTokenizer>(), kind_of<Symbols>(), kind_of<BpeTokenizer>(),
};

static_assert(std::ranges::equal(kTokenizerKinds, kTokenizerNames, {}, &TokenizerKind::name));

/// Returns kTokenizerNames for help texts: "byte, char, word, symbols or bpe".
std::string tokenizer_names_in_words();

/// Returns the kind with this name. Throws InputError for an unknown name; the message begins with `what`: "tokenizer.kind".
const TokenizerKind& tokenizer_kind(std::string_view name, std::string_view what);

/// Returns the tokenizer whose tokens are `symbols` with nothing between them: a CharTokenizer if it can make them. Throws InputError as
/// symbol_pipeline() does.
std::unique_ptr<Tokenizer> make_longest_tokenizer(std::vector<std::string> symbols, SymbolPlaces places = {}, AddedTokens added = {});

}  // namespace dikkat
