#include "train/text/word_tokenizer.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "train/text/characters.h"
#include "train/text/string_counts.h"
#include "train/text/tokenizer_json.h"

namespace dikkat {
namespace {

constexpr std::string_view kSpecial[] = {"<pad>", "<unk>", "<start>", "<end>"};
static_assert(std::size(kSpecial) == WordTokenizer::kFirstWord);
constexpr std::string_view kLineBreak = "\n";

/// Calls f(word) for every word, a view into the text. Throws EncodeError for text that is not UTF-8.
template <class F>
void for_words(std::string_view text, F&& f) {
  constexpr index kNone = -1;
  index start = kNone;  // where the current word starts
  const auto end_word = [&](index at) {
    if (start != kNone) {
      f(text.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(at - start)));
      start = kNone;
    }
  };
  for_characters(text, [&](char32_t code_point, index at) {
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
  for_words(text, [&](std::string_view word) { is_whole = word.size() == text.size(); });
  return is_whole;
}

/// Returns the number of bytes up to and including the last white space.
index stable_words(std::string_view text) {
  for (auto at = static_cast<index>(text.size()) - utf8::incomplete_tail(text); at > 0;) {
    const index before = utf8::snap(text, at - 1);
    const utf8::Character character = utf8::decode(text, before);
    if (character.fault == utf8::Fault::none && utf8::is_white_space(character.code_point)) {
      return at;
    }
    at = before;
  }
  return 0;
}

class WordTokenizerMaker : public TokenizerMaker {
 public:
  explicit WordTokenizerMaker(index min_count) : min_count_(min_count) {}

  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<WordTokenizerMaker>(min_count_); }
  void read(std::string_view text) override {
    for_words(text, [&](std::string_view word) { counts_.add(word); });
  }
  void merge(const TokenizerMaker& other) override { counts_.add(dynamic_cast<const WordTokenizerMaker&>(other).counts_); }
  index stable_prefix(std::string_view text) const override { return stable_words(text); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>&) override {
    require_input(counts_.distinct() > 0, "word tokenizer: there is no text to take the words from");
    std::vector<std::string> words;
    counts_.for_each([&](std::string_view word, std::uint64_t times) {
      if (times >= static_cast<std::uint64_t>(min_count_)) {
        words.emplace_back(word);
      }
    });
    require_input(!words.empty(), "word tokenizer: no word occurs ", min_count_, " times or more; lower tokenizer.min_count");
    std::sort(words.begin(), words.end());
    return std::make_unique<WordTokenizer>(std::move(words));
  }

 private:
  index min_count_;
  StringCounts counts_;
};

}  // namespace

std::unique_ptr<TokenizerMaker> WordTokenizer::maker(const TokenizerOptions& options) {
  require_input(options.min_count >= 1, "tokenizer.min_count is ", options.min_count, ", expected 1 or more");
  return std::make_unique<WordTokenizerMaker>(options.min_count);
}

std::unique_ptr<Tokenizer> WordTokenizer::from_json(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  fields.require_exactly({"kind", "words"});
  return std::make_unique<WordTokenizer>(fields.texts("words"));
}

WordTokenizer::WordTokenizer(std::vector<std::string> words) : words_(std::move(words)) {
  require_input(!words_.empty(), "word tokenizer: its vocabulary is empty, expected at least one word");
  for (std::size_t i = 0; i < words_.size(); ++i) {
    require_input(is_one_word(words_[i]), "word tokenizer: word ", i + 1, " of its vocabulary is empty or contains white space");
  }
  require_input(std::adjacent_find(words_.begin(), words_.end(), std::greater_equal<>()) == words_.end(),
                "word tokenizer: its vocabulary is not a list of distinct words in ascending byte order");
  words_.insert(words_.begin(), std::begin(kSpecial), std::end(kSpecial));
  ids_.reserve(words_.size());
  for (std::size_t id = kFirstWord; id < words_.size(); ++id) {
    ids_.emplace(words_[id], static_cast<Token>(id));
  }
}

std::vector<Token> WordTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  for_words(text, [&](std::string_view word) {
    const auto id = ids_.find(word);
    tokens.push_back(id == ids_.end() ? kUnknown : id->second);
  });
  return tokens;
}

index WordTokenizer::stable_prefix(std::string_view text) const { return stable_words(text); }

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
