#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// Two adjacent tokens that are replaced by one token with the bytes of both.
struct Merge {
  Token left, right;

  bool operator==(const Merge&) const = default;
};

/// Byte pair encoding (Sennrich et al. 2016; over bytes as in Radford et al. 2019). A piece starts as the tokens of its bytes. Then the
/// adjacent pair with the earliest merge, the leftmost if there are several, is replaced until no pair has a merge. With `ignore_merges`, a
/// piece that is a token becomes that token, even if no merges lead to it (Llama 3). Immutable: threads may share an instance.
class Bpe {
 public:
  /// `tokens` are the bytes of ids 0, 1 ...; `merges` are in the order of priority. A token without bytes reserves its id and is never
  /// produced. Single bytes that did not occur in a corpus may have no token (as in SmolLM 2), except printable ASCII and the line break.
  /// Throws InputError if one of these has no token, or if two tokens are equal. Throws it also for a merge that has an unknown id, makes
  /// bytes that are not a token, or occurs twice.
  Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, bool ignore_merges = false);
  ~Bpe();
  Bpe(Bpe&&) noexcept;
  Bpe& operator=(Bpe&&) noexcept;

  /// Appends the tokens of a piece, which may be any bytes. Takes O(n log n). Throws InputError if it has a byte without a token.
  void encode(std::string_view piece, std::vector<Token>& out) const;

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<Merge>& merges() const { return merges_; }
  bool ignores_merges() const { return ignore_merges_; }
  /// Returns the bytes that have no token.
  const std::string& missing_bytes() const { return missing_bytes_; }

 private:
  struct Tables;

  void encode_symbols(std::string_view piece, std::span<Token> symbols, std::vector<Token>& out) const;

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  bool ignore_merges_;
  std::string missing_bytes_;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace dikkat
