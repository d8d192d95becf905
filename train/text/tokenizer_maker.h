#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Which tokenizer to make from a corpus.
struct TokenizerOptions {
  std::string kind = "char";
  index vocab_size = 0;  // of "bpe": the tokens to end with, 257 or more
  index min_count = 1;   // of "word": rarer words are unknown
};

/// Collects from a corpus, chunk by chunk, what a tokenizer of some kind needs. The result does not depend on the order of the chunks, so
/// several makers may read at once and then be merged.
class TokenizerMaker {
 public:
  virtual ~TokenizerMaker() = default;

  /// An empty maker of the same kind.
  virtual std::unique_ptr<TokenizerMaker> another() const = 0;
  /// Throws EncodeError for text that the kind cannot read.
  virtual void read(std::string_view text) = 0;
  /// Adds what `other`, of the same kind, has read.
  virtual void absorb(const TokenizerMaker& other) = 0;
  /// Tokenizer::settled() of the tokenizer that make() will give.
  virtual index settled(std::string_view text) const = 0;
  /// Call it once and last, since it may consume what was read. `progress` gets the share that is done. Throws InputError when there was no
  /// text and the kind needs some.
  virtual std::unique_ptr<Tokenizer> make(const std::function<void(double)>& progress = {}) = 0;
};

/// Throws InputError for an unknown kind, which names the known ones, and for options out of range.
std::unique_ptr<TokenizerMaker> make_tokenizer_maker(const TokenizerOptions& options);

/// The tokenizer whose vocabulary comes from all the documents. Throws InputError as make_tokenizer_maker() and make(); EncodeError, which
/// numbers the document, for one that the kind cannot read.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> documents);
inline std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string_view> documents) {
  return make_tokenizer(TokenizerOptions{.kind = std::string(kind)}, documents);
}

}  // namespace dikkat
