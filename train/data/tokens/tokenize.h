#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "train/data/corpus/corpus.h"
#include "train/data/corpus/split.h"
#include "train/data/tokens/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The parts of a corpus.
enum class Part : std::uint8_t { train, validation };
inline constexpr std::size_t kParts = 2;

/// Receives tokens.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// Begins a document. The tokens of a part come in order. The parts may take turns.
  virtual void begin_document(Part part) = 0;
  virtual void append(Part part, std::span<const Token> tokens) = 0;
};

/// A corpus as tokens.
struct TokenizedCorpus {
  std::array<TokenStore, kParts> parts;
  std::array<index, kParts> bytes{};  // bytes of each part's text
  std::string file{};                 // the token file that was just written for it, if any
};

/// Encodes a corpus, chunk by chunk, on TBB's threads; the tokens do not depend on them. The tokenizer's separator, if it has one, is put
/// between two documents of a part (not at either end). `progress` gets the bytes of text done. `fingerprint` comes from survey(); it is
/// empty if it is not known. Returns the bytes of each part. Throws InputError, which names the file and the byte, for text that cannot be
/// encoded. Throws it also if the texts have changed since survey().
std::array<index, kParts> tokenize(const Corpus& corpus, const Tokenizer& tokenizer, const FileSplit& split, TokenSink& sink,
                                   const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// Encodes a corpus into memory.
TokenizedCorpus tokenize(const Corpus& corpus, const Tokenizer& tokenizer, const FileSplit& split = {},
                         const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// Returns the tokens of a corpus from a token file in `folder`. Writes the file first if there is none for this text, tokenizer and split.
/// `fingerprint` is the corpus's.
TokenizedCorpus tokenize_once(const std::string& folder, const std::string& fingerprint, const Corpus& corpus, const Tokenizer& tokenizer,
                              const FileSplit& split, const std::function<void(index)>& progress = {});

/// Opens the token file that tokenize_once() writes. Returns nullopt if there is none; writes nothing.
std::optional<TokenizedCorpus> find_tokens(const std::string& folder, const std::string& fingerprint, const Tokenizer& tokenizer,
                                           const FileSplit& split);

}  // namespace dikkat
