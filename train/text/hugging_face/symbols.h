#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/choices/tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/tokenizer_maker.h"

// Tokenizers whose tokens are given strings, such as chess moves. In a tokenizer.json, their model is WordLevel.
namespace dikkat {

class WordTokenizer;
struct TokenizerJson;

/// The kind "symbols". Its maker takes the distinct words between spaces and line breaks of a corpus, and completed().
struct Symbols {
  static constexpr std::string_view kKind = "symbols";
  static constexpr bool kAnyBytes = false;
  static constexpr index kMost = index{1} << 20;                 // symbols of a vocabulary
  static constexpr std::size_t kLongest = std::size_t{1} << 10;  // bytes of one of them

  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);
};

/// How errors count symbols: with {"row", 1}, the symbol with id 0 is "row 1".
struct SymbolPlaces {
  std::string_view noun = "symbol";
  index first = 0;
};

/// Returns a tokenizer whose tokens are `symbols`, by id. With spaces, they are separated by spaces, and a line break is a symbol without
/// spaces next to it, if it is one of them. The tokens of `added` are special; if there are none, <|endoftext|> is, if it is a symbol.
/// Throws InputError, which names the place, for a symbol that is empty, too long, not UTF-8, occurs twice, or has a space or line break in
/// it.
BpePipeline symbol_pipeline(std::vector<std::string> symbols, SymbolSplit split, SymbolPlaces places = {}, AddedTokens added = {});

/// Adds a line break and <|endoftext|>, the token between documents, unless the symbols have them.
std::vector<std::string> completed(std::vector<std::string> symbols);

/// Returns a tokenizer that gives the same tokens to all texts. Throws InputError for a word that is spelled like a special token.
BpePipeline word_pipeline(const WordTokenizer& tokenizer);

/// Returns the JSON text of a pre_tokenizer after which the longest tokens are words of their own: a regular expression.
std::string longest_pre_tokenizer(const std::vector<std::string>& tokens, const AddedTokens& added);

/// The decoder that Hugging Face's library uses for a WordLevel without one: it puts a space between tokens.
inline constexpr const char* kSpacesBetween = R"({"type":"WordPiece","prefix":" ","cleanup":false})";

}  // namespace dikkat
