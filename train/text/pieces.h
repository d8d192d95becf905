#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// Cuts a text into the pieces that byte-level BPE never merges across, by GPT-2's rule (openai/gpt-2, src/encoder.py):
///
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
///
/// White space is Unicode's White_Space, letters and numbers are those of unicode_version(). The time is linear in the text.
class PieceReader {
 public:
  /// `text` is UTF-8, which is not looked at again, and outlives the reader.
  explicit PieceReader(std::string_view text);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  /// The next piece, empty at the end. All of them in order are the text.
  std::string_view next();

  /// Of the tables that tell letters and numbers: "14.0.0" with Debian 12's PCRE2. Characters that are newer count as neither.
  static std::string unicode_version();

 private:
  struct Match;
  std::string_view text_;
  std::size_t at_ = 0;
  std::unique_ptr<Match> match_;
};

/// Bytes from the start of a text, cut off anywhere, whose pieces are the same whatever follows: up to the last white space that comes
/// after something else; 0 where there is none.
index settled_pieces(std::string_view text);

}  // namespace dikkat
