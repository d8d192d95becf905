#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "train/text/splitter.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The tokenizer to make from a corpus.
struct TokenizerOptions {
  std::string kind = "char";
  index vocab_size = 0;                // for "bpe": the largest number of tokens, 257 or more
  Splitter splitter = Splitter::gpt2;  // for "bpe"
  index min_count = 1;                 // for "word": rarer words become <unk>
};

/// Makes a tokenizer of some kind from a corpus that it reads chunk by chunk. The result does not depend on the order of the chunks, so
/// several makers can read in parallel and be merged.
class TokenizerMaker {
 public:
  virtual ~TokenizerMaker() = default;

  /// Returns a maker of the same kind that has read nothing.
  virtual std::unique_ptr<TokenizerMaker> empty_copy() const = 0;
  /// Reads a chunk of text. Throws EncodeError for text that this kind cannot encode.
  virtual void read(std::string_view text) = 0;
  /// Adds the text that `other`, of the same kind, has read.
  virtual void merge(const TokenizerMaker& other) = 0;
  /// Returns Tokenizer::stable_prefix() of the tokenizer that make() will return.
  virtual index stable_prefix(std::string_view text) const = 0;
  /// Makes the tokenizer. Call it once, as the last method, because it may consume the counts. `progress` gets the completed share. Throws
  /// InputError if there was no text and the kind needs some.
  virtual std::unique_ptr<Tokenizer> make(const std::function<void(double)>& progress = {}) = 0;
};

/// Returns a maker for these options. Throws InputError for an unknown kind (the message lists the known ones) and for options out of
/// range.
std::unique_ptr<TokenizerMaker> make_tokenizer_maker(const TokenizerOptions& options);

/// Makes a tokenizer from documents in memory. Throws InputError as make_tokenizer_maker() and make() do, and EncodeError, with the
/// document's index, for one that this kind cannot encode.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, std::span<const std::string_view> documents);
inline std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string_view> documents) {
  return make_tokenizer(TokenizerOptions{.kind = std::string(kind)}, documents);
}

}  // namespace dikkat
