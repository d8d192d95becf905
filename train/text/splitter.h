#pragma once

#include <string_view>

#include "train/choices/tokenizer.h"

namespace dikkat {

/// The properties of a splitter.
struct SplitterFacts {
  std::string_view regex;    // the rule as tokenizer.json writes it: in Oniguruma's syntax, where \s is Unicode's White_Space
  bool splits_digits;        // whether each \p{N} becomes a piece first, and `regex` splits the text between them
  std::string_view pattern;  // the whole rule for PCRE2 (pieces.cpp)
  std::string_view gguf;     // tokenizer.ggml.pre, llama.cpp's name for it
  // Other properties of the models that use it. A tokenizer that is trained with this splitter has them too.
  bool nfc;            // whether the text is first converted to Unicode's normal form C
  bool ignore_merges;  // whether a piece that is a token becomes that token, even if no merges lead to it
};

const SplitterFacts& facts_of(Splitter splitter);

}  // namespace dikkat
