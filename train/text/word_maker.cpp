#include "train/text/word_maker.h"

#include <algorithm>

#include "train/text/words.h"

namespace dikkat {

std::unique_ptr<TokenizerMaker> WordMaker::empty_copy() const { return std::make_unique<WordMaker>(form_, min_count_, make_); }

void WordMaker::read(std::string_view text) {
  const auto add = [&](std::string_view word) { counts_.add(word); };
  if (form_ == Form::any) {
    for_words(text, true, add);
  } else {
    for_spaced_words(text, true, add);
  }
}

void WordMaker::merge(const TokenizerMaker& other) { counts_.add(dynamic_cast<const WordMaker&>(other).counts_); }

index WordMaker::stable_prefix(std::string_view text) const { return form_ == Form::any ? stable_words(text) : stable_spaced_words(text); }

std::unique_ptr<Tokenizer> WordMaker::make(const std::function<void(double)>&) {
  require_input(counts_.distinct() > 0, "tokenizer: there is no text to take the words from");
  std::vector<std::string> words;
  counts_.for_each([&](std::string_view word, std::uint64_t times) {
    if (times >= static_cast<std::uint64_t>(min_count_)) {
      words.emplace_back(word);
    }
  });
  require_input(!words.empty(), "word tokenizer: no word occurs ", min_count_, " times or more; lower tokenizer.min_count");
  std::ranges::sort(words);
  return make_(std::move(words));
}

}  // namespace dikkat
