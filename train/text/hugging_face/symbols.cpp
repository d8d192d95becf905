#include "train/text/hugging_face/symbols.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/in_quotes.h"
#include "train/system/json.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/characters.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/string_counts.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

constexpr std::string_view kSeparators = " \n";

// The steps of a tokenizer with spaces. WordPiece puts a space before each token but the first, since no token has its prefix.
constexpr const char* kSplitAtLines = R"({"type":"Split","pattern":{"String":"\n"},"behavior":"Isolated","invert":false})";
/// The library for JavaScript keeps the spaces if they are given as a String.
constexpr const char* kSplitAtSpaces = R"({"type":"Split","pattern":{"Regex":" "},"behavior":"Removed","invert":false})";
constexpr const char* kNoSpaceAtLines = R"({"type":"Replace","pattern":{"Regex":" ?\n ?"},"content":"\n"})";
/// Splits at any White_Space (utf8::kWhiteSpace).
constexpr const char* kSplitAtWhiteSpace =
    R"({"type":"Split","pattern":{"Regex":"[\t\u000b-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"},)"
    R"("behavior":"Removed","invert":false})";

/// Returns a step as from_hugging_face_json() keeps it.
std::string as_read(const std::string& step) { return json_text(parse_json(step)); }

/// Returns a tokenizer for words that `split` separates, and line breaks.
BpePipeline spaced_pipeline(std::vector<std::string> symbols, AddedTokens added, std::optional<Token> unknown, const char* split) {
  std::vector<Token> special;
  std::ranges::transform(added, std::back_inserter(special), [](const auto& token) { return token.first; });
  return {.bpe = std::make_shared<const CharacterBpe>(std::move(symbols), std::vector<Merge>(),
                                                      CharacterBpeRules{.unknown = unknown, .symbols = SymbolSplit::spaces}, special),
          .added_tokens = std::move(added),
          .pre_tokenizer = as_read(concat(R"({"type":"Sequence","pretokenizers":[)", kSplitAtLines, ',', split, "]}")),
          .decoder = as_read(concat(R"({"type":"Sequence","decoders":[)", kSpacesBetween, R"(,{"type":"Fuse"},)", kNoSpaceAtLines, "]}"))};
}

class SymbolMaker : public TokenizerMaker {
 public:
  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<SymbolMaker>(); }
  void read(std::string_view text) override {
    require_utf8(text);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(kSeparators), text.size());
      if (end > 0) {
        counts_.add(text.substr(0, end));
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  void merge(const TokenizerMaker& other) override { counts_.add(dynamic_cast<const SymbolMaker&>(other).counts_); }
  index stable_prefix(std::string_view text) const override { return static_cast<index>(text.find_last_of(kSeparators) + 1); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>&) override {
    require_input(counts_.distinct() > 0, "symbols tokenizer: there is no text to take the symbols from");
    std::vector<std::string> symbols;
    counts_.for_each([&](std::string_view symbol, std::uint64_t) { symbols.emplace_back(symbol); });
    std::ranges::sort(symbols);
    return std::make_unique<PipelineTokenizer>(symbol_pipeline(completed(std::move(symbols)), SymbolSplit::spaces));
  }

 private:
  StringCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerMaker> Symbols::maker(const TokenizerOptions&) { return std::make_unique<SymbolMaker>(); }

std::unique_ptr<Tokenizer> Symbols::from_json(const TokenizerJson& json) { return BpeTokenizer::from_json(json); }

BpePipeline symbol_pipeline(std::vector<std::string> symbols, SymbolSplit split, SymbolPlaces places, AddedTokens added) {
  require_input(std::ssize(symbols) <= Symbols::kMost, "there are ", symbols.size(), " symbols, expected at most ", Symbols::kMost);
  std::unordered_map<std::string_view, index> ids;
  const auto place = [&](index id) { return concat(places.noun, ' ', id + places.first); };
  for (index id = 0; id < std::ssize(symbols); ++id) {
    const std::string& symbol = symbols[static_cast<std::size_t>(id)];
    const auto invalid = utf8::first_invalid(symbol);
    require_input(!invalid, place(id), " is not a symbol: at its byte ", invalid.value_or(0), " it is ",
                  invalid ? utf8::refusal(symbol, *invalid) : "");
    require_input(!symbol.empty() && symbol.size() <= Symbols::kLongest, place(id), " has ", symbol.size(), " bytes, expected 1 to ",
                  Symbols::kLongest);
    require_input(split == SymbolSplit::longest || symbol == "\n" || symbol.find_first_of(kSeparators) == std::string::npos, place(id),
                  " is ", in_quotes(symbol), ", but a space ends a symbol (--split longest takes symbols with spaces)");
    const auto [same, is_new] = ids.emplace(symbol, id);
    require_input(is_new, place(id), " is ", in_quotes(symbol), ", and so is ", place(same->second));
  }
  if (const auto end = ids.find(kEndOfText); added.empty() && end != ids.end()) {
    added.emplace(static_cast<Token>(end->second), AddedToken{.name = std::string(kEndOfText)});
  }
  require_input(symbols.size() > added.size(), "there are no symbols, expected one or more");
  if (split == SymbolSplit::spaces) {
    return spaced_pipeline(std::move(symbols), std::move(added), std::nullopt, kSplitAtSpaces);
  }
  std::vector<Token> special;
  std::ranges::transform(added, std::back_inserter(special), [](const auto& token) { return token.first; });
  return {.bpe = std::make_shared<const CharacterBpe>(std::move(symbols), std::vector<Merge>(),
                                                      CharacterBpeRules{.symbols = SymbolSplit::longest}, special),
          .added_tokens = std::move(added),
          .decoder = R"({"type":"Fuse"})"};
}

std::vector<std::string> completed(std::vector<std::string> symbols) {
  for (const std::string_view needed : {std::string_view("\n"), kEndOfText}) {
    if (std::ranges::find(symbols, needed) == symbols.end()) {
      symbols.emplace_back(needed);
    }
  }
  return symbols;
}

BpePipeline word_pipeline(const WordTokenizer& tokenizer) {
  std::vector<std::string> words;
  AddedTokens added;
  for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
    words.push_back(tokenizer.decode(std::span(&id, 1)));
    if (id < WordTokenizer::kFirstWord) {
      added.emplace(id, AddedToken{.name = words.back()});
    }
    require_input(id < WordTokenizer::kFirstWord || !added_token(added, words.back()), "the word ", in_quotes(words.back()),
                  " is spelled like a special token, which a tokenizer.json cannot describe; replace it in the text, and train again");
  }
  BpePipeline pipeline = spaced_pipeline(std::move(words), std::move(added), WordTokenizer::kUnknown, kSplitAtWhiteSpace);
  pipeline.text_tokens.eos = WordTokenizer::kEnd;
  return pipeline;
}

std::string longest_pre_tokenizer(const std::vector<std::string>& tokens, const AddedTokens& added) {
  // The alternatives of a regular expression are tried in their order, so the longest ones come first.
  std::vector<std::string_view> symbols;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty() && !added.contains(static_cast<Token>(id))) {
      symbols.emplace_back(tokens[id]);
    }
  }
  std::ranges::stable_sort(symbols, std::greater<>(), &std::string_view::size);
  std::string regex;
  for (const std::string_view symbol : symbols) {
    regex += regex.empty() ? "" : "|";
    for (const char c : symbol) {
      regex += std::string_view("\\^$.*+?()[]{}|").find(c) == std::string_view::npos ? "" : "\\";
      regex += c;
    }
  }
  return json_text(nlohmann::json{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
}

}  // namespace dikkat
