#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/layers/tiny_encoder_decoder.h"
#include "tests/layers/training_step.h"
#include "tests/support/compare.h"
#include "tests/support/widened_bf16.h"

// Models whose products read bf16 are the f32 models to within their roundings, have the same bits on any number of threads, and need less
// memory.
namespace dikkat {
namespace {

using testing::same_bits;

constexpr int kSteps = 4;

struct Trained {
  std::vector<float> losses, first_gradients, weights;
  std::size_t activation_bytes;
};

std::vector<float> slab(const float* from, index size) { return {from, from + size}; }

/// Trains for some steps with AdamW.
template <class Model, class Loss>
Trained trained(DType operands, Model& model, Loss&& loss_of) {
  AdamW adamw(model.store, {});
  Tape tape;
  Trained run{};
  for (int step = 1; step <= kSteps; ++step) {
    Pass pass{.tape = tape, .training = true, .seed = 5, .step = static_cast<std::uint64_t>(step), .operands = operands};
    const Tensor loss = loss_of(pass);
    run.losses.push_back(*loss.data<float>());
    tape.backward(loss);
    tape.reset();
    if (step == 1) {
      run.first_gradients = slab(model.store.template gradients<float>(), model.store.trainable_size());
    }
    adamw.step(step, 1e-2, 1);
  }
  run.weights = slab(model.store.template weights<float>(), model.store.slab_size());
  run.activation_bytes = tape.activation_bytes();
  return run;
}

Trained trained_gpt(DType operands, NormPosition norm, TransformerConfig config = kTrainingConfig) {
  config.norm_position = norm;
  TinyGpt tiny(config);
  const auto tokens = some_tokens(2 * config.block_size, config.vocab_size, 1);
  const auto targets = some_tokens(2 * config.block_size, config.vocab_size, 2);
  return trained(operands, tiny, [&](Pass& pass) {
    const Tensor logits = tiny.gpt(pass, pass.tape.input<std::int32_t>({2, config.block_size}, tokens));
    return cross_entropy(logits, pass.tape.input<std::int32_t>({2, config.block_size}, targets));
  });
}

Trained trained_encoder_decoder(DType operands, NormPosition norm) {
  TransformerConfig config = kTinyEncoderDecoder;
  config.norm_position = norm;
  config.activation = Activation::gelu;  // if a rounding changed the sign of an argument of ReLU, its slope would jump
  TinyEncoderDecoder tiny(config);
  return trained(operands, tiny, [&](Pass& pass) { return tiny.loss(pass); });
}

/// The norm of a - b divided by that of b.
double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    whole += b[i] * b[i];
  }
  return std::sqrt(difference / whole);
}

// A path through these models, forth and back, has some 64 roundings at most, which are independent and at most 2^-8 each: together some
// sqrt(64) 2^-8. Later steps have other weights.
void expect_near(const Trained& found, const Trained& expected) {
  EXPECT_NEAR(found.losses[0], expected.losses[0], 0x1p-8 * expected.losses[0]);
  ASSERT_EQ(found.first_gradients.size(), expected.first_gradients.size());
  const double distance = relative_distance(found.first_gradients, expected.first_gradients);
  EXPECT_LT(distance, 8 * 0x1p-8);
  EXPECT_GT(distance, 0x1p-12) << "nothing was rounded";
  EXPECT_LT(found.losses.back(), found.losses.front());
}

template <class F>
void expect_same_bits_on_threads(F&& train) {
  const auto on = [&](int threads) {
    const WithThreads with(threads, Work{0});
    return train();
  };
  const Trained one = on(1);
  for (const int threads : {2, 3}) {
    const Trained other = on(threads);
    EXPECT_TRUE(same_bits(other.losses, one.losses)) << threads << " threads";
    EXPECT_TRUE(same_bits(other.weights, one.weights)) << threads << " threads";
  }
}

TEST(Bf16Model, GptIsThatOfF32ToWithinItsRoundings) {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    const Trained found = trained_gpt(DType::bf16, norm), expected = trained_gpt(DType::f32, norm);
    expect_near(found, expected);
    EXPECT_LT(static_cast<double>(found.activation_bytes), 0.75 * static_cast<double>(expected.activation_bytes));
  }
}

TEST(Bf16Model, LlamaIsThatOfF32ToWithinItsRoundings) {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    const Trained found = trained_gpt(DType::bf16, norm, kTrainingLlama), expected = trained_gpt(DType::f32, norm, kTrainingLlama);
    expect_near(found, expected);
    EXPECT_LT(static_cast<double>(found.activation_bytes), 0.8 * static_cast<double>(expected.activation_bytes))
        << "logits are kept three times for the softcap, in f32";
  }
}

TEST(Bf16Model, GemmaAndOlmoAreThoseOfF32ToWithinItsRoundings) {
  expect_near(trained_gpt(DType::bf16, NormPosition::sandwich, kTrainingGemma),
              trained_gpt(DType::f32, NormPosition::sandwich, kTrainingGemma));
  expect_near(trained_gpt(DType::bf16, NormPosition::branch, kTrainingOlmo), trained_gpt(DType::f32, NormPosition::branch, kTrainingOlmo));
}

TEST(Bf16Model, EncoderDecoderIsThatOfF32ToWithinItsRoundings) {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    expect_near(trained_encoder_decoder(DType::bf16, norm), trained_encoder_decoder(DType::f32, norm));
  }
}

TEST(Bf16Model, HasTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_threads([] { return trained_gpt(DType::bf16, NormPosition::pre); });
  expect_same_bits_on_threads([] { return trained_gpt(DType::bf16, NormPosition::pre, kTrainingLlama); });
  expect_same_bits_on_threads([] { return trained_encoder_decoder(DType::bf16, NormPosition::post); });
}

TEST(Bf16Model, HasTheSameBitsIfItsProductsAreWidened) {
  const auto expect_same_bits = [](auto&& train) {
    const auto run = [&](bool widens) {
      const testing::WidenedBf16 widened(widens);
      return train();
    };
    const Trained dot = run(false), widened = run(true);
    EXPECT_TRUE(same_bits(widened.losses, dot.losses));
    EXPECT_TRUE(same_bits(widened.weights, dot.weights));
  };
  expect_same_bits([] { return trained_gpt(DType::bf16, NormPosition::pre); });
  expect_same_bits([] { return trained_gpt(DType::bf16, NormPosition::pre, kTrainingLlama); });
  expect_same_bits([] { return trained_encoder_decoder(DType::bf16, NormPosition::post); });
}

TEST(Bf16Model, DoesNotChangeAModelOfF64) {
  ParameterStore store(DType::f64);
  const Gpt gpt(Scope(store), kTrainingConfig);
  store.allocate(1);
  Tape tape;
  Pass pass{.tape = tape, .operands = DType::bf16};
  const auto tokens = some_tokens(kTrainingConfig.block_size, kTrainingConfig.vocab_size, 1);
  EXPECT_EQ(gpt(pass, tape.input<std::int32_t>({1, kTrainingConfig.block_size}, tokens)).dtype(), DType::f64);
}

}  // namespace
}  // namespace dikkat
