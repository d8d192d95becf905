#include "train/text/char_tokenizer.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "train/text/characters.h"
#include "train/text/tokenizer_json.h"

namespace dikkat {
namespace {

constexpr Token kNone = -1;

index stable_characters(std::string_view text) { return static_cast<index>(text.size()) - utf8::incomplete_tail(text); }

class CharTokenizerMaker : public TokenizerMaker {
 public:
  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<CharTokenizerMaker>(); }
  void read(std::string_view text) override {
    for_characters(text, [&](char32_t code_point, index) { seen_[code_point] = true; });
  }
  void merge(const TokenizerMaker& other) override {
    const auto& seen = dynamic_cast<const CharTokenizerMaker&>(other).seen_;
    std::transform(seen_.begin(), seen_.end(), seen.begin(), seen_.begin(), std::logical_or<>());
  }
  index stable_prefix(std::string_view text) const override { return stable_characters(text); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>&) override {
    std::u32string characters;
    for (char32_t code_point = 0; code_point <= utf8::kLastCodePoint; ++code_point) {
      if (seen_[code_point]) {
        characters += code_point;
      }
    }
    require_input(!characters.empty(), "char tokenizer: there is no text to take the characters from");
    return std::make_unique<CharTokenizer>(std::move(characters));
  }

 private:
  std::vector<char> seen_ = std::vector<char>(utf8::kLastCodePoint + 1);  // by code point
};

}  // namespace

std::unique_ptr<TokenizerMaker> CharTokenizer::maker(const TokenizerOptions&) { return std::make_unique<CharTokenizerMaker>(); }

std::unique_ptr<Tokenizer> CharTokenizer::from_json(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  fields.require_exactly({"kind", "characters"});
  std::u32string characters;
  for_characters(fields.text("characters"), [&](char32_t code_point, index) { characters += code_point; });
  return std::make_unique<CharTokenizer>(std::move(characters));
}

CharTokenizer::CharTokenizer(std::u32string characters) : characters_(std::move(characters)) {
  require_input(!characters_.empty(), "char tokenizer: its vocabulary is empty, expected at least one character");
  const auto unsorted = std::adjacent_find(characters_.begin(), characters_.end(), std::greater_equal<>());
  require_input(unsorted == characters_.end() && std::all_of(characters_.begin(), characters_.end(), utf8::is_character),
                "char tokenizer: its vocabulary is not a list of distinct characters in ascending order");
  ids_.assign(characters_.back() + std::size_t{1}, kNone);
  for (std::size_t id = 0; id < characters_.size(); ++id) {
    ids_[characters_[id]] = static_cast<Token>(id);
  }
}

std::vector<Token> CharTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  tokens.reserve(text.size());
  for_characters(text, [&](char32_t code_point, index at) {
    const Token id = code_point < ids_.size() ? ids_[code_point] : kNone;
    if (id == kNone) {
      throw EncodeError(at, concat("the character ", utf8::name_of(code_point), " is not among the ", vocab_size(),
                                   " characters of the vocabulary, which comes from the training text"));
    }
    tokens.push_back(id);
  });
  return tokens;
}

index CharTokenizer::stable_prefix(std::string_view text) const { return stable_characters(text); }

std::string CharTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "char tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    utf8::append(text, characters_[static_cast<std::size_t>(token)]);
  }
  return text;
}

std::string CharTokenizer::to_json() const {
  std::string characters;
  for (const char32_t code_point : characters_) {
    utf8::append(characters, code_point);
  }
  return nlohmann::json{{"kind", kKind}, {"characters", characters}}.dump();
}

}  // namespace dikkat
