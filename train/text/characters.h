#pragma once

#include "train/text/tokenizer.h"
#include "train/text/utf8.h"

/// For the sources of this box only: how tokenizers of UTF-8 read it.
namespace dikkat {

/// Calls f(code point, offset) for every character. Throws EncodeError at the first that is not UTF-8.
template <class F>
void for_characters(std::string_view text, index document, F&& f) {
  for (index at = 0; at < static_cast<index>(text.size());) {
    const utf8::Character character = utf8::decode(text, at);
    if (character.fault != utf8::Fault::none) {
      throw EncodeError(at, concat(utf8::refusal(text, at), " or use the byte tokenizer (tokenizer.kind = \"byte\")"), document);
    }
    f(character.code_point, at);
    at += character.bytes;
  }
}

}  // namespace dikkat
