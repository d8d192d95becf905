#include "train/sample/model_passes.h"

#include <algorithm>
#include <array>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"

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

void ModelPasses::read(const Gpt& model, std::span<const Token> tokens, KeyValueCache& sequence, std::span<float> logits) {
  tape_.reset();  // an exception may have interrupted the last pass
  Pass pass{.tape = tape_};
  CachedSequences one(std::array{&sequence});
  const Tensor features = model.features(pass, tape_.input<Token>({1, std::ssize(tokens)}, tokens), one);
  if (!logits.empty()) {
    const Tensor last = model.logits(pass, slice(features, 1, std::ssize(tokens) - 1, 1));
    if (copy(last.data<float>(), logits)) {
      throw nan_error();
    }
  }
  tape_.reset();
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
