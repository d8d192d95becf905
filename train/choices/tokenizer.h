#pragma once

#include <cstdint>
#include <string_view>

#include "autograd/base/names.h"

namespace dikkat {

/// The rule by which byte-level BPE splits a text into pieces before it merges bytes, named after a model that uses it.
enum class Splitter : std::uint8_t { gpt2, smollm, llama3, qwen2 };
template <>
struct Names<Splitter> {
  static constexpr std::string_view of[] = {"gpt2", "smollm", "llama3", "qwen2"};
};

/// How the tokens of a vocabulary of given strings are found in a text.
enum class SymbolSplit : std::uint8_t {
  spaces,   // spaces separate them
  longest,  // nothing does: at each place, the longest one counts
};
template <>
struct Names<SymbolSplit> {
  static constexpr std::string_view of[] = {"spaces", "longest"};
};

/// The kinds of tokenizers that a configuration may name. train/text/tokenizer_kinds.h has their classes, in the same order.
inline constexpr std::string_view kTokenizerNames[] = {"byte", "char", "word", "symbols", "bpe"};

}  // namespace dikkat
