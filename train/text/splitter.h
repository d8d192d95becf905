#pragma once

#include <cstdint>
#include <string_view>

#include "autograd/base/names.h"

namespace dikkat {

/// The rule by which byte-level BPE splits a text into pieces before it merges bytes, named by the models that use it.
enum class Splitter : std::uint8_t { gpt2, smollm, llama3, qwen2 };
template <>
struct Names<Splitter> {
  static constexpr std::string_view of[] = {"gpt2", "smollm", "llama3", "qwen2"};
};

/// What belongs to a splitter.
struct SplitterFacts {
  std::string_view regex;    // the rule as tokenizer.json writes it: in Oniguruma's syntax, where \s is Unicode's White_Space
  bool splits_digits;        // whether each \p{N} is a piece first, and `regex` splits what stands between
  std::string_view pattern;  // the whole rule for PCRE2 (pieces.cpp)
  std::string_view gguf;     // tokenizer.ggml.pre, llama.cpp's name for it
  // What the models that use it do besides; a tokenizer that is trained with this splitter does the same.
  bool nfc;            // the text is put into Unicode's normal form C first
  bool ignore_merges;  // a piece that is a token becomes that token, even if no merges lead to it
};

const SplitterFacts& facts_of(Splitter splitter);

}  // namespace dikkat
