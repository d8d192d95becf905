#include "train/text/unicode.h"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

/// Characters that normal form C keeps, that join nothing before them and are not marks (NFC_Quick_Check=Yes, Canonical_Combining_Class=0).
/// Code points that Unicode may still assign are left out. The text before such a character can be normalized separately.
constexpr utf8::Range kBoundaries[] = {
    {0x0, 0x2FF},     {0x3A3, 0x482},   {0x488, 0x52F},   {0x10D0, 0x1160},   {0x1E00, 0x1EFF},
    {0x2002, 0x2064}, {0x2190, 0x2328}, {0x3000, 0x3029}, {0x3041, 0x3096},   {0x309B, 0x30FF},
    {0x3220, 0xA48C}, {0xAC00, 0xD7A3}, {0xFF01, 0xFFBE}, {0x1F300, 0x1F6D7}, {0x20000, 0x2A6DF},
};

bool is_nfc_boundary(char32_t code_point) {
  const auto* const range = std::lower_bound(std::begin(kBoundaries), std::end(kBoundaries), code_point,
                                             [](utf8::Range some, char32_t c) { return some.last < c; });
  return range != std::end(kBoundaries) && range->first <= code_point;
}

/// Appends the normal form of a text.
class Normalizer {
 public:
  Normalizer(std::string& out, NormalForm form) : out_(out), form_(form) {}

  void operator()(std::string_view text) {
    characters_.clear();
    for (index at = 0; at < static_cast<index>(text.size());) {
      const utf8::Character character = utf8::decode(text, at);
      append_decomposed(character.code_point);
      at += character.bytes;
    }
    // utf8proc sorts marks by exchanging neighbors, which takes minutes for a million of them on one letter.
    const auto is_mark = [](utf8proc_int32_t c) { return class_of(c) != 0; };
    for (auto first = std::find_if(characters_.begin(), characters_.end(), is_mark); first != characters_.end();) {
      const auto last = std::find_if_not(first, characters_.end(), is_mark);
      std::stable_sort(first, last, [](utf8proc_int32_t a, utf8proc_int32_t b) { return class_of(a) < class_of(b); });
      first = std::find_if(last, characters_.end(), is_mark);
    }
    auto count = static_cast<utf8proc_ssize_t>(characters_.size());
    if (form_ == NormalForm::c || form_ == NormalForm::kc) {
      count = utf8proc_normalize_utf32(characters_.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
      require(count >= 0, "normal form: utf8proc failed: ", utf8proc_errmsg(count));
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      utf8::append(out_, static_cast<char32_t>(characters_[static_cast<std::size_t>(i)]));
    }
  }

 private:
  static int class_of(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

  void append_decomposed(char32_t code_point) {
    constexpr std::size_t kMost = 18;  // the longest decomposition of a code point; canonical ones have at most four
    const std::size_t before = characters_.size();
    characters_.resize(before + kMost);
    int boundary_class = 0;
    const bool is_compatible = form_ == NormalForm::kc || form_ == NormalForm::kd;
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0));
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), characters_.data() + before, kMost, options, &boundary_class);
    require(0 < count && count <= static_cast<utf8proc_ssize_t>(kMost), "normal form: utf8proc decomposes ", utf8::name_of(code_point),
            " into ", count, " characters");
    characters_.resize(before + static_cast<std::size_t>(count));
  }

  std::string& out_;
  NormalForm form_;
  std::vector<utf8proc_int32_t> characters_;
};

}  // namespace

std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::c); }

std::string to_normal_form(std::string_view text, NormalForm form) {
  // ASCII joins only characters after it, and is the same in all forms.
  const auto is_boundary = [form](char32_t c) { return c < 0x80 || (form == NormalForm::c && is_nfc_boundary(c)); };
  std::string out;
  out.reserve(text.size());
  Normalizer normalize(out, form);
  const auto size = static_cast<index>(text.size());
  const auto part = [&](index first, index last) {
    return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  };
  index kept = 0;      // the end of the appended text
  index boundary = 0;  // the last boundary
  // Normalize the parts between boundaries, and copy the others.
  for (index at = 0; at < size;) {
    const utf8::Character character = utf8::decode(text, at);
    if (is_boundary(character.code_point)) {
      boundary = at;
      at += character.bytes;
      continue;
    }
    index end = at + character.bytes;  // the next boundary: all characters from the last one up to it may change
    while (end < size) {
      const utf8::Character next = utf8::decode(text, end);
      if (is_boundary(next.code_point)) {
        break;
      }
      end += next.bytes;
    }
    out += part(kept, boundary);
    normalize(part(boundary, end));
    kept = boundary = at = end;
  }
  out += part(kept, size);
  return out;
}

bool is_word_character(char32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: break;
  }
  // Joiners, and alphabetic symbols: letters in circles and squares.
  constexpr utf8::Range kOthers[] = {{0x200C, 0x200D}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
  return std::any_of(std::begin(kOthers), std::end(kOthers),
                     [=](utf8::Range some) { return some.first <= code_point && code_point <= some.last; });
}

char32_t to_upper(char32_t code_point) { return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code_point))); }

char32_t to_lower(char32_t code_point) { return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))); }

char32_t to_title(char32_t code_point) { return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code_point))); }

bool is_letter(char32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return UTF8PROC_CATEGORY_LU <= category && category <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal_digit(char32_t code_point) { return utf8proc_category(static_cast<utf8proc_int32_t>(code_point)) == UTF8PROC_CATEGORY_ND; }

bool is_number(char32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return UTF8PROC_CATEGORY_ND <= category && category <= UTF8PROC_CATEGORY_NO;
}

bool is_cased(char32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return UTF8PROC_CATEGORY_LU <= category && category <= UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t code_point) {
  if (code_point == U' ') {
    return true;
  }
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

}  // namespace dikkat
