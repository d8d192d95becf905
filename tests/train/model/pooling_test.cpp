#include "train/model/pooling.h"

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "tests/support/throws.h"
#include "train/data/samples/read_texts.h"

namespace dikkat {
namespace {

constexpr Pooling kPoolings[] = {Pooling::last, Pooling::mean};

/// Returns two rows of 6 positions with texts of 2, 3 and 5, in another order than their numbers.
Batch three_texts() {
  Batch batch;
  batch.reshape(2, {.cols = 6, .packed = true, .texts = 2});
  batch.texts = {{.number = 2, .begin = 0, .length = 2}, {.number = 0, .begin = 2, .length = 3}, {.number = 1, .begin = 6, .length = 5}};
  return batch;
}

TEST(Pooling, TakesTheLastPositionOrTheMean) {
  const Batch batch = three_texts();
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * i);
  }
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor features = tape.input<float>({2, 6, 2}, values);
  const auto pooled = [&](Pooling pooling) {
    const Tensor y = pool(pass, features, batch, pooling);
    EXPECT_EQ(y.shape(), (Shape{3, 2}));
    return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
  };
  EXPECT_EQ(pooled(Pooling::last), (std::vector<float>{4, 9, 64, 81, 400, 441}));
  const std::vector<float> mean = pooled(Pooling::mean), expected = {2, 5, 116.0F / 3, 155.0F / 3, 264, 297};
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i], expected[i], 3e-5) << i;
  }
}

TEST(Pooling, HasTheRightGradient) {
  const Batch batch = three_texts();
  for (const Pooling pooling : kPoolings) {
    const CheckedFunction f = [&](Tape& tape, std::span<const Tensor> operands) {
      Pass pass{.tape = tape};
      return square(pool(pass, operands[0], batch, pooling));
    };
    const std::vector<CheckedOperand> operands = {{.shape = {2, 6, 3}, .values = gradient_check_dy(36)}};
    EXPECT_LT(gradient_error(f, operands), 1e-7) << name_of(pooling);
  }
}

/// Returns the pooled features of all texts in rows of `room` tokens, by the texts' numbers, and the gradient of the embedding.
struct Pooled {
  std::vector<float> vectors, gradient;
};
Pooled pooled(LanguageModel& model, const ReadTextStore& store, index room, Pooling pooling) {
  const ReadTextSamples samples(store, room);
  Batch batch;
  batch.reshape(samples.count(), samples.longest());
  for (index row = 0; row < samples.count(); ++row) {
    samples.fill(0, row, row, batch);
  }
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor y = pooled_features(model, pass, batch, pooling);
  Pooled result;
  const index width = y.shape()[1];
  result.vectors.resize(static_cast<std::size_t>(y.size()));
  for (std::size_t i = 0; i < batch.texts.size(); ++i) {
    std::copy_n(y.data<float>() + static_cast<index>(i) * width, width, result.vectors.begin() + batch.texts[i].number * width);
  }
  tape.backward(sum(square(y)));
  model.parameters().complete_gradients();
  result.gradient.assign(model.parameters().gradients<float>(),
                         model.parameters().gradients<float>() + model.parameters().trainable_size());
  model.parameters().clear_gradients();
  return result;
}

TEST(Pooling, DoesNotDependOnTheRowsOfTextsOrOnThreads) {
  LanguageModel model({.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 12}, 50);
  model.parameters().allocate(1);
  ReadTextStore store;
  for (index i = 0; i < 9; ++i) {
    std::vector<Token> text(static_cast<std::size_t>(2 + i));
    for (std::size_t j = 0; j < text.size(); ++j) {
      text[j] = static_cast<Token>((7 * i + 3 * static_cast<index>(j)) % 50);
    }
    store.append(text);
  }
  for (const Pooling pooling : kPoolings) {
    const Pooled apart = pooled(model, store, 10, pooling), packed = pooled(model, store, 32, pooling);
    for (std::size_t i = 0; i < apart.vectors.size(); ++i) {
      ASSERT_NEAR(apart.vectors[i], packed.vectors[i], 1e-5) << name_of(pooling) << ' ' << i;
    }
    for (std::size_t i = 0; i < apart.gradient.size(); ++i) {
      ASSERT_NEAR(apart.gradient[i], packed.gradient[i], 1e-4) << name_of(pooling) << ' ' << i;
    }
    const int threads = thread_count();
    set_thread_count(3);
    const Pooled with_threads = pooled(model, store, 32, pooling);
    set_thread_count(threads);
    EXPECT_EQ(with_threads.vectors, packed.vectors) << name_of(pooling);
    EXPECT_EQ(with_threads.gradient, packed.gradient) << name_of(pooling);
  }
}

TEST(Pooling, RefusesWhatHasNoTexts) {
  const LanguageModel pairs({.kind = ModelKind::encoder_decoder, .n_layer = 1, .n_embd = 8, .block_size = 4}, 9);
  Tape tape;
  Pass pass{.tape = tape};
  EXPECT_TRUE(testing::names(input_error_of([&] { pooled_features(pairs, pass, three_texts(), Pooling::last); }), {"encoder-decoder"}));
  Batch empty;
  empty.reshape(1, {.cols = 2});
  EXPECT_THROW(pool(pass, tape.input<float>({1, 2, 1}, {1, 2}), empty, Pooling::last), Error);
  EXPECT_THROW(pool(pass, tape.input<float>({1, 2, 1}, {1, 2}), three_texts(), Pooling::last), Error) << "another shape";
}

}  // namespace
}  // namespace dikkat
