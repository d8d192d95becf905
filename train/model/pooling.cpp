#include "train/model/pooling.h"

#include <algorithm>
#include <vector>

#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/constants.h"
#include "autograd/ops/indexing.h"

namespace dikkat {
namespace {

Tensor widened(Tensor x) { return x.dtype() == DType::bf16 ? cast(x, DType::f32) : x; }

Tensor last_features(Tape& tape, Tensor positions, const Batch& batch) {
  std::vector<std::int32_t> last;
  for (const ReadText& text : batch.texts) {
    last.push_back(static_cast<std::int32_t>(text.begin + text.length - 1));
  }
  return widened(index_select(positions, 0, tape.input<std::int32_t>({std::ssize(last)}, last)));
}

/// Adds the features of each text. Padding is added to one more row, which is then dropped.
Tensor mean_features(Tape& tape, Tensor positions, const Batch& batch) {
  const index texts = std::ssize(batch.texts), count = positions.shape()[0], width = positions.shape()[1];
  std::vector<std::int32_t> text_of(static_cast<std::size_t>(count), static_cast<std::int32_t>(texts));
  std::vector<float> shares;
  for (index i = 0; i < texts; ++i) {
    const ReadText& text = batch.texts[static_cast<std::size_t>(i)];
    std::fill_n(text_of.begin() + text.begin, text.length, static_cast<std::int32_t>(i));
    shares.push_back(1 / static_cast<float>(text.length));
  }
  const Tensor ids = broadcast_to(tape.input<std::int32_t>({count, 1}, text_of), {count, width});
  const Tensor source = widened(positions);
  const Tensor sums = scatter_add(zeros(tape, {texts + 1, width}, source.dtype()), 0, ids, source);
  return multiply(slice(sums, 0, 0, texts), cast(tape.input<float>({texts, 1}, shares), source.dtype()));
}

}  // namespace

Tensor pool(Pass& pass, Tensor features, const Batch& batch, Pooling pooling) {
  const Shape& shape = features.shape();
  require(shape.rank() == 3 && shape[0] == batch.rows && shape[1] == batch.lengths.cols, "pool: features are ", shape, ", expected (",
          batch.rows, ", ", batch.lengths.cols, ", C)");
  require(!batch.texts.empty(), "pool: the batch has no text, expected 1 or more");
  pass.tape.enter(Region::head);
  const Tensor positions = reshape(features, {shape[0] * shape[1], shape[2]});
  switch (pooling) {
    case Pooling::last: return last_features(pass.tape, positions, batch);
    case Pooling::mean: return mean_features(pass.tape, positions, batch);
  }
  fail("pool: unknown pooling");
}

Tensor pooled_features(const LanguageModel& model, Pass& pass, const Batch& batch, Pooling pooling) {
  model.gpt();
  return pool(pass, model.features(pass, batch), batch, pooling);
}

}  // namespace dikkat
