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

/// Two adjacent tokens that become one, whose bytes are theirs.
struct Merge {
  Token left, right;

  bool operator==(const Merge&) const = default;
};

/// Byte pair encoding (Sennrich et al. 2016, over bytes as Radford et al. 2019). A piece begins as the tokens of its bytes. Of all adjacent
/// pairs for which there is a merge, the one with the earliest merge is replaced, the leftmost first, until there is none. Immutable:
/// threads may share one.
class Bpe {
 public:
  /// `tokens` are the bytes of ids 0, 1 ..., and include each single byte; `merges` are in the order of their priority. A token of no bytes
  /// reserves its id and is never produced. Throws InputError where a byte is missing, two tokens are equal, or a merge names an unknown
  /// id, makes a text that is no token, or occurs twice.
  Bpe(std::vector<std::string> tokens, std::vector<Merge> merges);
  ~Bpe();
  Bpe(Bpe&&) noexcept;
  Bpe& operator=(Bpe&&) noexcept;

  /// Appends the tokens of a piece of any bytes; in O(n log n).
  void encode(std::string_view piece, std::vector<Token>& out) const;

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<Merge>& merges() const { return merges_; }

 private:
  struct Tables;

  void encode_short(std::string_view piece, std::vector<Token>& out) const;
  void encode_long(std::string_view piece, std::vector<Token>& out) const;

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace dikkat
