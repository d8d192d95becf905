#include "train/sample/prompt_cache.h"

#include <algorithm>

namespace dikkat {

index PromptCache::begin(std::span<const Token> prompt) {
  // An interrupted pass leaves keys and values beyond tokens_, which are not used. At least one token of the prompt is read again.
  const index usable = std::max<index>(std::min(std::ssize(prompt) - 1, keys_and_values_.length()), 0);
  const auto known = std::span<const Token>(tokens_).first(static_cast<std::size_t>(std::min(std::ssize(tokens_), usable)));
  const index equal = std::ranges::mismatch(known, prompt).in1 - known.begin();
  const index kept = equal / kChunk * kChunk;
  keys_and_values_.truncate(0, kept);
  tokens_.resize(static_cast<std::size_t>(kept));
  return kept;
}

}  // namespace dikkat
