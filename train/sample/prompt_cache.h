#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// Keys and values of prompts that were read before, of several conversations. A prompt is read in chunks of kChunk tokens, and the cache
/// keeps whole chunks in a tree: a chunk follows the chunks of all tokens before it. So a prompt finds the chunks of the longest beginning
/// that it shares with an earlier one, and it gives the same bits whatever was read before it. When the cache is full, the chunk that was
/// used least recently, and that no other chunk follows, makes room.
///
/// A chunk belongs to one model, which is known by its address: a model must outlive the cache and keep its weights.
class PromptCache {
 public:
  static constexpr index kChunk = 128;

  struct Options {
    index positions = 0;           // of all chunks, rounded down to whole ones; 0: a context of the model
    std::optional<DType> cache{};  // the type of keys and values; absent: the model's own
  };
  /// The model gives the size of keys and values. Memory is taken as chunks are added.
  explicit PromptCache(const Gpt& model) : PromptCache(model, Options{}) {}
  PromptCache(const Gpt& model, const Options& options);
  PromptCache(PromptCache&&) noexcept;
  PromptCache& operator=(PromptCache&&) noexcept;
  ~PromptCache();

  /// The most bytes that the cache of models with this configuration, as Gpt::config() returns it, takes.
  static std::size_t bytes(const TransformerConfig& model, const Options& options);

  /// Appends the known chunks of `context` that follow the positions that `keys_and_values` has, a multiple of kChunk. At least the last
  /// token of the context is left to be read. Returns the number of positions that it has appended.
  index extend(const Gpt& model, std::span<const Token> context, KeyValueCache& keys_and_values);
  /// Keeps all whole chunks of a context that the model has read, as far as there is room: as many as `keys_and_values` has positions.
  void add(const Gpt& model, std::span<const Token> context, const KeyValueCache& keys_and_values);

  index positions() const;       // that are kept
  index most_positions() const;  // that there is room for
  DType dtype() const;           // of keys and values
  /// Forgets all prompts.
  void clear();

 private:
  class Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace dikkat
