#include "train/sample/prompt_cache.h"

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

namespace dikkat {
namespace {

/// A chunk of a prompt, after the chunks of its parents.
struct Chunk {
  const Gpt* model = nullptr;
  Chunk* parent = nullptr;  // null: it begins the prompt
  std::vector<Token> tokens;
  KeyValueCache keys_and_values;
  std::optional<PromptScores> scores{};  // those of its tokens
  std::vector<Chunk*> children{};
  std::int64_t used = 0;  // the index of its last use

  bool lacks(const PromptScores* wanted) const { return wanted != nullptr && !(scores && wanted->is_within(*scores)); }
};

}  // namespace

class PromptCache::Tree {
 public:
  Tree(const Gpt& model, const Options& options)
      : dtype_(model.cache_type(options.cache)),
        most_(std::max<index>((options.positions == 0 ? model.config().block_size : options.positions) / kChunk, 0)),
        config_(model.config()) {}

  index extend(const Gpt& model, std::span<const Token> context, KeyValueCache& to, PromptScores* scores) {
    const index begin = to.length();
    const index last = (std::ssize(context) - 1) / kChunk * kChunk;  // leaves at least one token to read
    Chunk* parent = nullptr;
    ++uses_;
    for (index at = 0; at < last; at += kChunk) {
      Chunk* next = find(model, parent, chunk_at(context, at));
      if (next == nullptr || (at >= begin && next->lacks(scores))) {
        break;
      }
      next->used = uses_;
      if (at >= begin) {
        to.append_positions(0, next->keys_and_values, 0, 0, kChunk);
        if (scores != nullptr) {
          scores->append(*next->scores);
        }
      }
      parent = next;
    }
    return to.length() - begin;
  }

  void add(const Gpt& model, std::span<const Token> context, const KeyValueCache& from, const PromptScores* scores) {
    const index end = std::min(std::ssize(context), from.length()) / kChunk * kChunk;
    Chunk* parent = nullptr;
    ++uses_;
    for (index at = 0; at < end; at += kChunk) {
      Chunk* next = find(model, parent, chunk_at(context, at));
      if (next == nullptr) {
        next = make_room();
        if (next == nullptr) {
          return;
        }
        next->model = &model;
        next->parent = parent;
        const auto tokens = chunk_at(context, at);
        next->tokens.assign(tokens.begin(), tokens.end());
        next->keys_and_values.clear();
        next->keys_and_values.append_positions(0, from, 0, at, kChunk);
        next->scores.reset();
        children_of(parent).push_back(next);
      }
      if (next->lacks(scores) && at + kChunk == std::ssize(scores->tokens)) {
        next->scores = scores->last_tokens(kChunk);
      }
      next->used = uses_;
      parent = next;
    }
  }

  index count() const { return std::ssize(chunks_); }
  index most() const { return most_; }
  DType dtype() const { return dtype_; }
  void clear() {
    chunks_.clear();
    first_.clear();
  }

 private:
  static std::span<const Token> chunk_at(std::span<const Token> context, index at) {
    return context.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(kChunk));
  }
  std::vector<Chunk*>& children_of(Chunk* parent) { return parent == nullptr ? first_ : parent->children; }

  Chunk* find(const Gpt& model, Chunk* parent, std::span<const Token> tokens) {
    const std::vector<Chunk*>& all = children_of(parent);
    const auto found =
        std::ranges::find_if(all, [&](const Chunk* one) { return one->model == &model && std::ranges::equal(one->tokens, tokens); });
    return found == all.end() ? nullptr : *found;
  }

  /// Returns a chunk without a place in the tree: a new one, or the least recently used one without children. Keeps those of the present
  /// use. Returns null if there is no room.
  Chunk* make_room() {
    if (count() < most_) {
      const TransformerConfig& c = config_;
      return &chunks_.emplace_back(Chunk{.tokens = {}, .keys_and_values = {c.n_layer, 1, kChunk, c.n_kv_head * c.head_size, dtype_}});
    }
    Chunk* oldest = nullptr;
    for (Chunk& one : chunks_) {
      if (one.children.empty() && one.used != uses_ && (oldest == nullptr || one.used < oldest->used)) {
        oldest = &one;
      }
    }
    if (oldest != nullptr) {
      std::erase(children_of(oldest->parent), oldest);
      oldest->parent = nullptr;
    }
    return oldest;
  }

  DType dtype_;
  index most_;  // chunks
  TransformerConfig config_;
  std::list<Chunk> chunks_;
  std::vector<Chunk*> first_;  // chunks that begin a prompt
  std::int64_t uses_ = 0;
};

PromptCache::PromptCache(const Gpt& model, const Options& options) : tree_(std::make_unique<Tree>(model, options)) {}
PromptCache::PromptCache(PromptCache&&) noexcept = default;
PromptCache& PromptCache::operator=(PromptCache&&) noexcept = default;
PromptCache::~PromptCache() = default;

std::size_t PromptCache::bytes(const TransformerConfig& model, const Options& options) {
  const index positions = (options.positions == 0 ? model.block_size : options.positions) / kChunk * kChunk;
  const std::size_t scores = options.scores_prompts ? PromptScores::bytes(model, positions, positions / kChunk) : 0;
  return key_value_bytes(model, positions, options.cache.value_or(DType::f32)) + scores;
}

index PromptCache::extend(const Gpt& model, std::span<const Token> context, KeyValueCache& keys_and_values, PromptScores* scores) {
  return tree_->extend(model, context, keys_and_values, scores);
}
void PromptCache::add(const Gpt& model, std::span<const Token> context, const KeyValueCache& keys_and_values, const PromptScores* scores) {
  tree_->add(model, context, keys_and_values, scores);
}
index PromptCache::positions() const { return tree_->count() * kChunk; }
index PromptCache::most_positions() const { return tree_->most() * kChunk; }
DType PromptCache::dtype() const { return tree_->dtype(); }
void PromptCache::clear() { tree_->clear(); }

}  // namespace dikkat
