#pragma once

#include "train/text/tokenizer.h"
#include "train/text/utf8.h"

/// Reads UTF-8 text for tokenizers. This header is private to its folder.
namespace dikkat {

/// Throws EncodeError for the invalid UTF-8 at an offset.
[[noreturn]] inline void refuse_utf8(std::string_view text, index at) {
  throw EncodeError(at, concat(utf8::refusal(text, at),
                               ", set data.invalid_utf8 = \"replace\" (--replace-invalid) if only a few bytes are damaged, or use the byte "
                               "tokenizer (tokenizer.kind = \"byte\", --kind byte)"));
}

/// Throws EncodeError for the first byte that is not UTF-8.
inline void require_utf8(std::string_view text) {
  if (const auto at = utf8::first_invalid(text)) {
    refuse_utf8(text, *at);
  }
}

/// Calls f(code point, offset) for every character. Throws EncodeError at the first that is not UTF-8.
template <class F>
void for_characters(std::string_view text, F&& f) {
  for (index at = 0; at < static_cast<index>(text.size());) {
    const utf8::Character character = utf8::decode(text, at);
    if (character.fault != utf8::Fault::none) {
      refuse_utf8(text, at);
    }
    f(character.code_point, at);
    at += character.bytes;
  }
}

}  // namespace dikkat
