#include "train/text/word_tokenizer.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "train/text/tokenizer_json.h"
#include "train/text/word_maker.h"

namespace dikkat {
namespace {

constexpr std::string_view kSpecial[] = {"<pad>", "<unk>", "<start>", "<end>"};
static_assert(std::size(kSpecial) == WordTokenizer::kFirstWord);

SymbolVocabulary vocabulary_of_words(std::vector<std::string> words) {
  require_input(!words.empty(), "word tokenizer: its vocabulary is empty, expected at least one word");
  require_input(std::ranges::adjacent_find(words, std::greater_equal<>()) == words.end(),
                "word tokenizer: its vocabulary is not a list of distinct words in ascending byte order");
  words.insert(words.begin(), std::begin(kSpecial), std::end(kSpecial));
  return {.symbols = std::move(words),
          .special = {WordTokenizer::kPad, WordTokenizer::kUnknown, WordTokenizer::kStart, WordTokenizer::kEnd},
          .end = WordTokenizer::kEnd,
          .unknown = WordTokenizer::kUnknown};
}

}  // namespace

std::unique_ptr<TokenizerMaker> WordTokenizer::maker(const TokenizerOptions& options) {
  require_input(options.min_count >= 1, "tokenizer.min_count is ", options.min_count, ", expected 1 or more");
  return std::make_unique<WordMaker>(
      WordMaker::Form::any, options.min_count,
      [](std::vector<std::string> words) -> std::unique_ptr<Tokenizer> { return std::make_unique<WordTokenizer>(std::move(words)); });
}

std::unique_ptr<Tokenizer> WordTokenizer::from_json(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  fields.require_exactly({"kind", "words"});
  return std::make_unique<WordTokenizer>(fields.texts("words"));
}

std::unique_ptr<Tokenizer> WordTokenizer::with(const SymbolVocabulary& vocabulary) {
  const auto& symbols = vocabulary.symbols;
  if (symbols.size() <= kFirstWord) {
    return nullptr;
  }
  std::vector<std::string> words(symbols.begin() + kFirstWord, symbols.end());
  const bool is_sorted = std::ranges::adjacent_find(words, std::greater_equal<>()) == words.end();
  return is_sorted && vocabulary_of_words(words) == vocabulary ? std::make_unique<WordTokenizer>(std::move(words)) : nullptr;
}

WordTokenizer::WordTokenizer(std::vector<std::string> words)
    : SymbolTokenizer(vocabulary_of_words(std::move(words)), {.noun = "word tokenizer: word", .first = 1 - kFirstWord}) {}

std::string WordTokenizer::to_json() const {
  const std::vector<std::string>& symbols = vocabulary().symbols;
  return nlohmann::json{{"kind", kKind}, {"words", std::vector(symbols.begin() + kFirstWord, symbols.end())}}.dump();
}

}  // namespace dikkat
