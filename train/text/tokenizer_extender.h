#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "train/text/string_counts.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

class BpeTokenizer;
class PipelineTokenizer;

/// A tokenizer with tokens that another one, the old one, does not have.
struct TokenizerExtension {
  std::unique_ptr<Tokenizer> tokenizer{};
  Token first = 0;                           // the new tokens have this id and the following ones, to the end of the vocabulary
  std::vector<std::vector<Token>> pieces{};  // for each new token, the old tokens that its text has without it
};

/// Continues the merges of a byte-level BPE tokenizer on a corpus. No old id changes. New merges come after the old ones, so a text has
/// other tokens only where a new token replaces old ones. The new ids follow those of the old vocabulary, added tokens included.
class TokenizerExtender : public TokenizerMaker {
 public:
  /// Keeps a reference to the old tokenizer. `add` is the largest number of new tokens. Throws InputError, which names the kind, for a
  /// tokenizer that is not byte-level BPE.
  TokenizerExtender(const Tokenizer& old, index add);

  std::unique_ptr<TokenizerMaker> empty_copy() const override { return std::make_unique<TokenizerExtender>(old_, add_); }
  void read(std::string_view text) override;
  void merge(const TokenizerMaker& other) override { counts_.add(dynamic_cast<const TokenizerExtender&>(other).counts_); }
  index stable_prefix(std::string_view text) const override { return old_.stable_prefix(text); }
  std::unique_ptr<Tokenizer> make(const std::function<void(double)>& progress) override { return extend(progress).tokenizer; }

  /// Does what make() does. Throws InputError if the corpus adds no token.
  TokenizerExtension extend(const std::function<void(double)>& progress = {});

 private:
  const Tokenizer& old_;
  const BpeTokenizer* bytes_;          // one of these two is the old tokenizer
  const PipelineTokenizer* pipeline_;  // with other steps than those of BpeTokenizer
  index add_;
  StringCounts counts_;
};

}  // namespace dikkat
