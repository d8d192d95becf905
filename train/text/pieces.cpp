#include "train/text/pieces.h"

#include <array>
#include <iterator>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

/// Returns the compiled rule of a splitter, which threads share.
const pcre2_code* pattern_of(Splitter splitter) {
  static const auto codes = [] {
    std::array<const pcre2_code*, std::size(Names<Splitter>::of)> compiled{};
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      const std::string_view pattern = facts_of(static_cast<Splitter>(i)).pattern;
      int error = 0;
      PCRE2_SIZE at = 0;
      pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                             PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, nullptr);
      require(code != nullptr, "pieces: PCRE2 refuses the pattern of ", Names<Splitter>::of[i], " at byte ", at, " (error ", error, ")");
      pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // may fail: matching then is only slower
      compiled[i] = code;
    }
    return compiled;
  }();
  return codes[static_cast<std::size_t>(splitter)];
}

/// Returns whether a piece may have a line break after another character, so that white space does not always begin a new piece.
bool joins_line_breaks(Splitter splitter) { return splitter == Splitter::llama3 || splitter == Splitter::qwen2; }

}  // namespace

struct PieceReader::Match {
  const pcre2_code* pattern;
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data{pcre2_match_data_create(1, nullptr), pcre2_match_data_free};
};

PieceReader::PieceReader(std::string_view text, Splitter splitter) : text_(text), match_(new Match{.pattern = pattern_of(splitter)}) {
  require(match_->data != nullptr, "pieces: no memory for PCRE2");
}

PieceReader::~PieceReader() = default;

std::string_view PieceReader::next() {
  if (at_ == text_.size()) {
    return {};
  }
  const int found = pcre2_match(match_->pattern, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at_, PCRE2_NO_UTF_CHECK,
                                match_->data.get(), nullptr);
  require(found > 0, "pieces: PCRE2 failed at byte ", at_, " (error ", found, ")");  // every text matches
  const std::size_t end = pcre2_get_ovector_pointer(match_->data.get())[1];
  const std::string_view piece = text_.substr(at_, end - at_);
  at_ = end;
  return piece;
}

std::string PieceReader::unicode_version() {
  char version[24] = {};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  return version;
}

// This explains why the text can be split at such a place without changing its tokens. No rule looks back. So it is enough that a piece
// ends there, and that no earlier piece changes if the text ends there too.
//
// The first kind of place is before white space that follows another character. With gpt2 and smollm, no piece has white space after
// another character, and only a run of white space depends on the next character. For each run before the place, that character is known.
// With llama3 and qwen2 this holds only if the white space is not a line break, because " ?[^\s\p{L}\p{N}]+[\r\n]*" takes line breaks.
//
// The second kind, with llama3 and qwen2, is between a line break and a character that is not white space. No piece continues after a line
// break with another character. Signs take all line breaks after them, and "\s*[\r\n]+" takes white space up to its last line break,
// whatever the next character is.
//
// Normal form C changes nothing. The white space of the first kind is ASCII, so it neither moves nor joins the text before it. Nothing
// joins a line break.
index stable_pieces(std::string_view text, Splitter splitter) { return stable_pieces(text, joins_line_breaks(splitter), ""); }

index stable_pieces(std::string_view text, bool joins, std::string_view joins_after_break) {
  const auto is_break = [](char c) { return c == '\r' || c == '\n'; };
  const auto is_ascii_space = [](char c) { return c == ' ' || ('\t' <= c && c <= '\r'); };
  const auto is_space_at = [&](index at) {
    const utf8::Character character = utf8::decode(text, at);
    return character.fault == utf8::Fault::cut_off || utf8::is_white_space(character.code_point);  // cut off: it may be white space
  };
  for (std::size_t at = text.size(); at-- > 1;) {
    const auto here = static_cast<index>(at);
    if (is_ascii_space(text[at])) {
      if (!is_ascii_space(text[at - 1]) && !(joins && is_break(text[at])) && !is_space_at(utf8::snap(text, here - 1))) {
        return here;
      }
    } else if (joins && is_break(text[at - 1]) && !is_space_at(here) && joins_after_break.find(text[at]) == std::string_view::npos) {
      return here;
    }
  }
  return 0;
}

}  // namespace dikkat
