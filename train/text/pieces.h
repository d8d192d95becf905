#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "train/text/splitter.h"

namespace dikkat {

/// Splits a text into the pieces that byte-level BPE encodes separately. White space is Unicode's White_Space, letters and numbers are
/// those of unicode_version(). The time is linear in the text.
class PieceReader {
 public:
  /// `text` must be valid UTF-8 (this is not checked) and outlive the reader.
  PieceReader(std::string_view text, Splitter splitter);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  /// The next piece; empty at the end. All pieces in order are the text.
  std::string_view next();

  /// The version of Unicode that defines letters and numbers: "14.0.0" with Debian 12's PCRE2. Newer characters count as neither.
  static std::string unicode_version();

 private:
  struct Match;
  std::string_view text_;
  std::size_t at_ = 0;
  std::unique_ptr<Match> match_;
};

/// Tokenizer::stable_prefix() for pieces: the bytes before the last white space that follows something else, or, with the splitters that
/// end a piece with a line break, after the last line break that something else follows. 0 if there is no such place. Unicode's normal form
/// C changes nothing across it.
index stable_pieces(std::string_view text, Splitter splitter);

}  // namespace dikkat
