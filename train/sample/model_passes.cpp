#include "train/sample/model_passes.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"

namespace dikkat {
namespace {

/// Copies logits. Returns whether one of them is NaN.
bool copy(const float* from, std::span<float> to) {
  std::copy_n(from, to.size(), to.begin());
  bool is_nan = false;
  for (const float x : to) {
    is_nan |= x != x;  // NOLINT(misc-redundant-expression)
  }
  return is_nan;
}

}  // namespace

std::span<const char> ModelPasses::read_chunks(const Gpt& model, std::span<const Chunk> chunks, bool scores) {
  // Fill up the shorter chunks: no token sees a later one.
  const auto size_of = [](const Chunk& chunk) { return std::ssize(chunk.tokens); };
  const index begin = chunks.front().sequence->length(), longest = size_of(*std::ranges::max_element(chunks, {}, size_of));
  tokens_.clear();
  sequences_.clear();
  for (const Chunk& chunk : chunks) {
    require(chunk.sequence->length() == begin && (chunks.size() == 1 || size_of(chunk) > kMostRows), "sample: a chunk of ", size_of(chunk),
            " tokens after ", chunk.sequence->length(), " next to others, expected more than ", kMostRows, " after ", begin);
    tokens_.insert(tokens_.end(), chunk.tokens.begin(), chunk.tokens.end());
    tokens_.insert(tokens_.end(), static_cast<std::size_t>(longest - size_of(chunk)), chunk.tokens.back());
    sequences_.push_back(chunk.sequence);
  }

  // Read them, and forget what was filled up.
  tape_.reset();
  Pass pass{.tape = tape_};
  CachedSequences sequences(sequences_);
  const Tensor features = model.features(pass, tape_.input<Token>({std::ssize(chunks), longest}, tokens_), sequences);
  std::vector<Tensor> last;
  for (const Chunk& chunk : chunks) {
    chunk.sequence->truncate(0, begin + size_of(chunk));
    if (!chunk.last.empty()) {
      last.push_back(slice(slice(features, 0, &chunk - chunks.data(), 1), 1, size_of(chunk) - 1, 1));
    }
  }

  // Compute the logits after the last tokens, whose bits are the same with and without scores, and then those after all tokens.
  is_nan_.assign(chunks.size(), 0);
  if (!last.empty()) {
    const Tensor logits = model.logits(pass, concat(last, 0));
    const float* from = logits.data<float>();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!chunks[i].last.empty()) {
        is_nan_[i] = copy(from, chunks[i].last) ? 1 : 0;
        from += model.config().vocab_size;
      }
    }
  }
  all_logits_ = scores ? model.logits(pass, features) : Tensor{};
  return is_nan_;
}

std::span<const float> ModelPasses::logits_after(index chunk, index token) const {
  const Shape& shape = all_logits_.shape();
  const auto width = static_cast<std::size_t>(shape[2]);
  return {all_logits_.data<float>() + static_cast<std::size_t>(chunk * shape[1] + token) * width, width};
}

std::span<const char> ModelPasses::read_one_of_each(const Gpt& model, std::span<const Row> rows) {
  require(std::ssize(rows) <= kMostRows, "sample: a pass of ", rows.size(), " sequences, expected at most ", kMostRows);
  tape_.reset();
  tokens_.clear();
  sequences_.clear();
  for (const Row& row : rows) {
    tokens_.push_back(row.token);
    sequences_.push_back(row.sequence);
  }
  Pass pass{.tape = tape_};
  CachedSequences sequences(sequences_);
  const index count = std::ssize(rows);
  const Tensor logits = model.logits(pass, model.features(pass, tape_.input<Token>({count, 1}, tokens_), sequences));
  const index width = model.config().vocab_size;
  is_nan_.assign(rows.size(), 0);
  parallel_for(count, Work::elements(count * width), [&](index i) {
    is_nan_[static_cast<std::size_t>(i)] = copy(logits.data<float>() + i * width, rows[static_cast<std::size_t>(i)].logits) ? 1 : 0;
  });
  tape_.reset();
  return is_nan_;
}

Error ModelPasses::nan_error() { return Error("sample: the model's logits are NaN, expected finite weights: take an earlier checkpoint"); }

}  // namespace dikkat
