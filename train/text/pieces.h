#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "train/text/splitter.h"

namespace dikkat {

/// Splits a text into the pieces that byte-level BPE encodes separately, in linear time. White space is Unicode's White_Space; letters and
/// numbers are those of unicode_version().
class PieceReader {
 public:
  /// `text` must be valid UTF-8 (this is not checked) and outlive the reader.
  PieceReader(std::string_view text, Splitter splitter);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  /// Returns the next piece; empty at the end. All pieces together are the text.
  std::string_view next();

  /// Returns the version of Unicode that defines letters and numbers ("14.0.0" with Debian 12's PCRE2). Newer characters count as neither.
  static std::string unicode_version();

 private:
  struct Match;
  std::string_view text_;
  std::size_t at_ = 0;
  std::unique_ptr<Match> match_;
};

/// Returns Tokenizer::stable_prefix() for pieces: the bytes before the last white space that follows another character. With the splitters
/// that end a piece with a line break, it may also be the bytes up to the last line break before another character. Returns 0 if there is
/// no such place. Unicode's normal form C changes nothing across it.
index stable_pieces(std::string_view text, Splitter splitter);
/// Returns stable_pieces() for another rule. `joins_line_breaks`: whether a piece may have a line break after another character.
/// `joins_after_break`: the characters of ASCII, other than line breaks, that may follow a line break in a piece.
index stable_pieces(std::string_view text, bool joins_line_breaks, std::string_view joins_after_break);

}  // namespace dikkat
