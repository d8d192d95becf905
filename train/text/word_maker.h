#pragma once

#include <functional>

#include "train/text/string_counts.h"
#include "train/text/tokenizer_maker.h"

/// This header is private to its folder.
namespace dikkat {

/// Takes the distinct words of a corpus, and makes a tokenizer of them.
class WordMaker : public TokenizerMaker {
 public:
  enum class Form {
    any,     // any white space separates words (for_words())
    spaced,  // single spaces do (for_spaced_words())
  };
  /// Makes a tokenizer of words in ascending byte order.
  using Make = std::unique_ptr<Tokenizer> (*)(std::vector<std::string> words);

  /// Takes the words that occur `min_count` times or more.
  WordMaker(Form form, index min_count, Make make) : form_(form), min_count_(min_count), make_(make) {}

  std::unique_ptr<TokenizerMaker> empty_copy() const override;
  void read(std::string_view text) override;
  void merge(const TokenizerMaker& other) override;
  index stable_prefix(std::string_view text) const override;
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>&) override;

 private:
  Form form_;
  index min_count_;
  Make make_;
  StringCounts counts_;
};

}  // namespace dikkat
