#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "train/data/corpus.h"
#include "train/data/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The parts of a corpus.
enum class Part : std::uint8_t { train, validation };
inline constexpr std::size_t kParts = 2;

/// Receives tokens.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// The whole training part comes before the validation part.
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
/// between two documents of a part (not at either end). `progress` gets the bytes of text done. `fingerprint` is that of survey(), or empty
/// if it is not known. Returns the bytes of each part. Throws InputError, which names the file and the byte, for text that cannot be
/// encoded, and if the texts have changed since survey().
std::array<index, kParts> tokenize(const Corpus& corpus, const Tokenizer& tokenizer, std::optional<index> split, TokenSink& sink,
                                   const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// The same, in memory.
TokenizedCorpus tokenize(const Corpus& corpus, const Tokenizer& tokenizer, std::optional<index> split = {},
                         const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// The same with a token file in `folder`, which is written if there is none for this text and tokenizer. `fingerprint` is the corpus's.
TokenizedCorpus tokenize_once(const std::string& folder, const std::string& fingerprint, const Corpus& corpus, const Tokenizer& tokenizer,
                              std::optional<index> split, const std::function<void(index)>& progress = {});

/// Opens that token file. nullopt if there is none; nothing is written.
std::optional<TokenizedCorpus> find_tokens(const std::string& folder, const std::string& fingerprint, const Tokenizer& tokenizer,
                                           std::optional<index> split);

}  // namespace dikkat
