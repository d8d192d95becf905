#include "train/text/pieces.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

/// The same rule for PCRE2. Greedy repetitions that only the next character can end are possessive, to avoid backtracking. \s is spelled
/// out, because PCRE2's \s includes U+180E, which is not White_Space any more.
constexpr std::string_view kPattern = R"('(?:[sdmt]|re|ve|ll)| ?\p{L}++| ?\p{N}++| ?[^\x09-\x0D\x85\p{Z}\p{L}\p{N}]++|)"
                                      R"([\x09-\x0D\x85\p{Z}]+(?![^\x09-\x0D\x85\p{Z}])|[\x09-\x0D\x85\p{Z}])";

/// Compiled once; threads share it.
const pcre2_code* pattern() {
  static const pcre2_code* const code = [] {
    int error = 0;
    PCRE2_SIZE at = 0;
    pcre2_code* made = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern.data()), kPattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED,
                                     &error, &at, nullptr);
    require(made != nullptr, "pieces: PCRE2 refuses the pattern at byte ", at, " (error ", error, ")");
    pcre2_jit_compile(made, PCRE2_JIT_COMPLETE);  // without JIT it works too, but slower
    return made;
  }();
  return code;
}

}  // namespace

struct PieceReader::Match {
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data{pcre2_match_data_create(1, nullptr), pcre2_match_data_free};
};

PieceReader::PieceReader(std::string_view text) : text_(text), match_(std::make_unique<Match>()) {
  require(match_->data != nullptr, "pieces: no memory for PCRE2");
}

PieceReader::~PieceReader() = default;

std::string_view PieceReader::next() {
  if (at_ == text_.size()) {
    return {};
  }
  const int found = pcre2_match(pattern(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at_, PCRE2_NO_UTF_CHECK,
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

index stable_pieces(std::string_view text) {
  const auto is_ascii_space = [](char c) { return c == ' ' || ('\t' <= c && c <= '\r'); };
  for (std::size_t at = text.size(); at-- > 1;) {
    if (!is_ascii_space(text[at]) || is_ascii_space(text[at - 1])) {
      continue;
    }
    const index before = utf8::snap(text, static_cast<index>(at) - 1);
    if (!utf8::is_white_space(utf8::decode(text, before).code_point)) {
      return static_cast<index>(at);
    }
  }
  return 0;
}

}  // namespace dikkat
