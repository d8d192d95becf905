#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "train/data/examples/pairs.h"
#include "train/data/tokens/token_store.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Makes a tokenizer (make_tokenizer()) from all sources and targets of a corpus. Errors name the file and the line.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, const PairCorpus& corpus);

/// The tokens of pairs, numbered 0 to count() - 1. A source is stored with the end token, and a target without special tokens. The decoder
/// input puts the start token before the target, and the decoder's targets put the end token after it. Both have one token more than the
/// store. Every method throws Error for an index out of range.
class PairStore {
 public:
  /// Encodes in parallel; the result does not depend on the threads. Keeps no references. Throws InputError for a tokenizer without
  /// sequence_tokens(), and for a text that it cannot encode; the message names the file, the line and the byte.
  PairStore(const Tokenizer& tokenizer, std::span<const Pair> pairs);

  /// Returns the tokens for padding, start and end.
  const SequenceTokens& special_tokens() const { return special_tokens_; }
  index count() const { return sources_.count(); }
  /// Returns the number of tokens, with the end token.
  index source_length(index pair) const { return sources_.length(pair); }
  index target_length(index pair) const { return targets_.length(pair) + 1; }
  /// Returns the longest of these lengths; 0 if there are no pairs.
  index longest_source() const { return sources_.longest(); }
  index longest_target() const { return count() == 0 ? 0 : targets_.longest() + 1; }
  /// Writes source_length(pair) tokens. The last one is the end token.
  void read_source(index pair, Token* out) const { sources_.read(pair, out); }
  /// Writes target_length(pair) - 1 tokens, without special tokens.
  void read_target(index pair, Token* out) const { targets_.read(pair, out); }
  /// Returns the bytes of text in all targets.
  index target_bytes() const { return target_bytes_; }

 private:
  /// Token sequences, one after another.
  class Sequences {
   public:
    explicit Sequences(index vocab_size) : tokens_(vocab_size) {}

    void append(std::span<const Token> tokens);
    index count() const { return static_cast<index>(starts_.size()) - 1; }
    index length(index i) const;
    index longest() const { return longest_; }
    void read(index i, Token* out) const { tokens_.read(starts_[at(i)], length(i), out); }

   private:
    std::size_t at(index i) const;

    TokenStore tokens_;
    std::vector<index> starts_ = {0};  // the start of each sequence, and the end of the last
    index longest_ = 0;
  };

  SequenceTokens special_tokens_;
  Sequences sources_;
  Sequences targets_;
  index target_bytes_ = 0;
};

/// Throws InputError for the first pair whose source or target, with its special token, has more than `block_size` tokens. The message
/// names the file and the line. `store` must hold `pairs`.
void require_fits(const PairStore& store, std::span<const Pair> pairs, index block_size);

}  // namespace dikkat
