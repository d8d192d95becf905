#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "layers/models/gpt.h"
#include "train/sample/prompt_scores.h"
#include "train/text/token.h"

namespace dikkat {

/// Keys and values of prompts that were read before, of several conversations. A prompt is read in chunks of kChunk tokens. The cache keeps
/// whole chunks in a tree, in which a chunk's parent has the tokens before it. So a prompt finds the chunks of its longest shared prefix,
/// and its results have the same bits with any earlier prompts. A full cache drops the least recently used chunk without children.
///
/// A chunk also keeps the scores of its tokens, once a prompt with scores was read. So a later one does not read it either.
///
/// A chunk belongs to one model, which is known by its address: a model must outlive the cache and keep its weights.
class PromptCache {
 public:
  static constexpr index kChunk = 128;

  struct Options {
    index positions = 0;           // positions of all chunks, rounded down to whole chunks; 0: a context of the model
    std::optional<DType> cache{};  // the type of keys and values; absent: the model's own
    bool scores_prompts = false;   // for bytes(): whether prompts have scores
  };
  /// The model determines the size of keys and values. Allocates memory as chunks are added.
  explicit PromptCache(const Gpt& model) : PromptCache(model, Options{}) {}
  PromptCache(const Gpt& model, const Options& options);
  PromptCache(PromptCache&&) noexcept;
  PromptCache& operator=(PromptCache&&) noexcept;
  ~PromptCache();

  /// Returns the most bytes of a cache for models with this configuration (Gpt::config()).
  static std::size_t bytes(const TransformerConfig& model, const Options& options);

  /// Appends the known chunks of `context` after the positions that `keys_and_values` has, a multiple of kChunk. Leaves at least the last
  /// token of the context to be read. Returns the number of appended positions. `scores`, if it is not null, are those of the positions
  /// before; the scores of the appended ones are added, and chunks without them are not known.
  index extend(const Gpt& model, std::span<const Token> context, KeyValueCache& keys_and_values, PromptScores* scores = nullptr);
  /// Keeps all whole chunks of a context that the model has read, as far as there is room: as many as `keys_and_values` has positions. Also
  /// keeps the scores of the last one of these, if `scores`, those of all positions, are not null.
  void add(const Gpt& model, std::span<const Token> context, const KeyValueCache& keys_and_values, const PromptScores* scores = nullptr);

  index positions() const;       // positions that are kept
  index most_positions() const;  // positions that there is room for
  DType dtype() const;           // the type of keys and values
  /// Forgets all prompts.
  void clear();

 private:
  class Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace dikkat
