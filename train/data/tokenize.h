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

/// Where tokens go.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// All of the training part comes first.
  virtual void begin_document(Part part) = 0;
  virtual void append(Part part, std::span<const Token> tokens) = 0;
};

/// A corpus as tokens.
struct TokenizedCorpus {
  std::array<TokenStore, kParts> parts;
  std::array<index, kParts> bytes{};  // of each part's text
  std::string file{};                 // the token file that was made for it just now, if any
};

/// Encodes a corpus, chunk by chunk, on TBB's threads; the tokens do not depend on them. Between two documents of a part stands the
/// tokenizer's separator, if it has one (not at either end). `progress` gets the bytes of text that are done. `fingerprint` is what
/// survey() found, or empty where it is not known. Gives the bytes of each part. Throws InputError that names the file and the byte in it,
/// and when the texts are no longer those that were surveyed.
std::array<index, kParts> tokenize(const Corpus& corpus, const Tokenizer& tokenizer, std::optional<index> split, TokenSink& sink,
                                   const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// The same, in memory.
TokenizedCorpus tokenize(const Corpus& corpus, const Tokenizer& tokenizer, std::optional<index> split = {},
                         const std::function<void(index)>& progress = {}, const std::string& fingerprint = {});

/// The same from a token file in `folder`, which is made where there is none for this text and tokenizer. `fingerprint` is the corpus's.
TokenizedCorpus tokenize_once(const std::string& folder, const std::string& fingerprint, const Corpus& corpus, const Tokenizer& tokenizer,
                              std::optional<index> split, const std::function<void(index)>& progress = {});

/// The same where there is one already; nothing is written.
std::optional<TokenizedCorpus> find_tokens(const std::string& folder, const std::string& fingerprint, const Tokenizer& tokenizer,
                                           std::optional<index> split);

}  // namespace dikkat
