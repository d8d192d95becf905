#include "train/text/word_tokenizer.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "train/text/characters.h"
#include "train/text/tokenizer_json.h"

namespace dikkat {
namespace {

constexpr std::string_view kSpecial[] = {"<pad>", "<unk>", "<start>", "<end>"};
static_assert(std::size(kSpecial) == WordTokenizer::kFirstWord);
constexpr std::string_view kLineBreak = "\n";

/// Calls f(word) for every word, a view into the text. Throws EncodeError where the text is not UTF-8.
template <class F>
void for_words(std::string_view text, index document, F&& f) {
  constexpr index kNone = -1;
  index start = kNone;  // of the word that is being read
  const auto end_word = [&](index at) {
    if (start != kNone) {
      f(text.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(at - start)));
      start = kNone;
    }
  };
  for_characters(text, document, [&](char32_t code_point, index at) {
    if (!utf8::is_white_space(code_point)) {
      start = start == kNone ? at : start;
      return;
    }
    end_word(at);
    if (code_point == '\n') {
      f(text.substr(static_cast<std::size_t>(at), 1));
    }
  });
  end_word(static_cast<index>(text.size()));
}

bool is_one_word(std::string_view text) {
  bool is_whole = false;
  for_words(text, 0, [&](std::string_view word) { is_whole = word.size() == text.size(); });
  return is_whole;
}

}  // namespace

std::unique_ptr<Tokenizer> WordTokenizer::from_documents(std::span<const std::string_view> documents) {
  std::unordered_set<std::string_view> seen;
  index document = 0;
  for (const std::string_view text : documents) {
    for_words(text, document++, [&](std::string_view word) { seen.insert(word); });
  }
  require_input(!seen.empty(), "word tokenizer: there is no text, expected one to take the words from");
  std::vector<std::string> words(seen.begin(), seen.end());
  std::sort(words.begin(), words.end());
  return std::make_unique<WordTokenizer>(std::move(words));
}

std::unique_ptr<Tokenizer> WordTokenizer::from_json(std::string_view json) {
  const nlohmann::json object = parse_tokenizer(json);
  require_fields(object, {"kind", "words"});
  return std::make_unique<WordTokenizer>(strings_field(object, "words"));
}

WordTokenizer::WordTokenizer(std::vector<std::string> words) : words_(std::move(words)) {
  require_input(!words_.empty(), "word tokenizer: its vocabulary is empty, expected at least one word");
  for (std::size_t i = 0; i < words_.size(); ++i) {
    require_input(is_one_word(words_[i]), "word tokenizer: word ", i + 1, " of its vocabulary is empty or holds white space");
  }
  require_input(std::adjacent_find(words_.begin(), words_.end(), std::greater_equal<>()) == words_.end(),
                "word tokenizer: its vocabulary is not a list of distinct words in rising byte order");
  words_.insert(words_.begin(), std::begin(kSpecial), std::end(kSpecial));
  ids_.reserve(words_.size());
  for (std::size_t id = kFirstWord; id < words_.size(); ++id) {
    ids_.emplace(words_[id], static_cast<Token>(id));
  }
}

std::vector<Token> WordTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  for_words(text, 0, [&](std::string_view word) {
    const auto id = ids_.find(word);
    tokens.push_back(id == ids_.end() ? kUnknown : id->second);
  });
  return tokens;
}

std::string WordTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "word tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    const std::string& word = words_[static_cast<std::size_t>(token)];
    if (!text.empty() && !text.ends_with('\n') && word != kLineBreak) {
      text += ' ';
    }
    text += word;
  }
  return text;
}

std::string WordTokenizer::to_json() const {
  return nlohmann::json{{"kind", kKind}, {"words", std::vector(words_.begin() + kFirstWord, words_.end())}}.dump();
}

}  // namespace dikkat
