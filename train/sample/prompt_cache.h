#pragma once

#include <optional>
#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// Keys and values of the prompt that was read last, so that the next prompt is only read from where the two differ. A prompt is read in
/// passes of kChunk tokens, and keys and values are kept up to the end of such a pass. So a prompt gives the same bits whatever was read
/// before it.
class PromptCache {
 public:
  static constexpr index kChunk = 128;

  struct Options {
    index positions = 0;
    std::optional<DType> cache{};
  };
  PromptCache(const Gpt& model, const Options&) : PromptCache(model) {}
  static std::size_t bytes(const TransformerConfig& model, const Options& options) {
    return static_cast<std::size_t>(options.positions * model.n_layer * 2 * model.n_kv_head * model.head_size) * 4;
  }

  /// Throws Error if there is not enough memory.
  explicit PromptCache(const Gpt& model) : keys_and_values_(model.cache(1)) {}

  /// Truncates the cache to its common prefix with `prompt`, in whole chunks. Returns the number of cached prompt tokens, always less than
  /// prompt.size().
  index begin(std::span<const Token> prompt);
  /// Records that the model has read `tokens` into keys_and_values().
  void add(std::span<const Token> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  KeyValueCache& keys_and_values() { return keys_and_values_; }

 private:
  KeyValueCache keys_and_values_;
  std::vector<Token> tokens_;  // whose keys and values are in the cache
};

}  // namespace dikkat
