#include <cstring>

#include <gtest/gtest.h>

#include "tests/layers/tiny_encoder_decoder.h"
#include "tests/layers/training_step.h"

namespace dikkat {
namespace {

struct Result {
  std::vector<float> weights;
  std::size_t activation_bytes;
};

/// Returns the weights after three steps.
template <class Model, class Loss>
Result trained(Model& model, Recompute recompute, DType operands, Loss&& loss_of) {
  AdamW adamw(model.store, {});
  Tape tape;
  for (index step = 1; step <= 3; ++step) {
    Pass pass{
        .tape = tape, .training = true, .seed = 5, .step = static_cast<std::uint64_t>(step), .recompute = recompute, .operands = operands};
    tape.backward(loss_of(pass));
    tape.reset();
    tape.freeze();
    adamw.step(step, 1e-2, 1);
  }
  return {{model.store.template weights<float>(), model.store.template weights<float>() + model.store.slab_size()},
          tape.activation_bytes()};
}

Result trained_gpt(TransformerConfig config, Recompute recompute, DType operands) {
  config.n_layer = 4;
  TinyGpt tiny(config);
  const auto tokens = some_tokens(2 * config.block_size, config.vocab_size, 1);
  const auto targets = some_tokens(2 * config.block_size, config.vocab_size, 2);
  return trained(tiny, recompute, operands, [&](Pass& pass) {
    const Tensor logits = tiny.gpt(pass, pass.tape.input<std::int32_t>({2, config.block_size}, tokens));
    return cross_entropy(logits, pass.tape.input<std::int32_t>({2, config.block_size}, targets));
  });
}

Result trained_encoder_decoder(Recompute recompute, DType operands) {
  TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  return trained(tiny, recompute, operands, [&](Pass& pass) { return tiny.loss(pass); });
}

void expect_equal_bits(const Result& a, const Result& b) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  EXPECT_EQ(std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)), 0);
}

void expect_the_same_bits_in_less_memory_as_it_is(const TransformerConfig& config, double cheap_part, double block_part) {
  const WithThreads one(1);
  for (const DType operands : {DType::f32, DType::bf16}) {
    const Result none = trained_gpt(config, Recompute::none, operands);
    const Result cheap = trained_gpt(config, Recompute::cheap, operands);
    const Result block = trained_gpt(config, Recompute::block, operands);
    expect_equal_bits(none, cheap);
    expect_equal_bits(none, block);
    EXPECT_LT(static_cast<double>(cheap.activation_bytes), cheap_part * static_cast<double>(none.activation_bytes));
    EXPECT_LT(static_cast<double>(block.activation_bytes), block_part * static_cast<double>(cheap.activation_bytes));
  }
}

void expect_the_same_bits_in_less_memory(TransformerConfig config, double cheap_part, double block_part) {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    config.norm_position = norm;
    expect_the_same_bits_in_less_memory_as_it_is(config, cheap_part, block_part);
  }
}

TEST(RecomputedLayers, GptTrainsToTheSameBitsInLessMemory) { expect_the_same_bits_in_less_memory(kTrainingConfig, 0.9, 0.7); }
// A gate's operand, gate | up, is kept, and is twice as wide as the recomputed result.
TEST(RecomputedLayers, LlamaTrainsToTheSameBitsInLessMemory) { expect_the_same_bits_in_less_memory(kTrainingLlama, 0.95, 0.7); }

TEST(RecomputedLayers, GemmaTrainsToTheSameBitsInLessMemory) { expect_the_same_bits_in_less_memory_as_it_is(kTrainingGemma, 0.95, 0.7); }
TEST(RecomputedLayers, OlmoTrainsToTheSameBitsInLessMemory) { expect_the_same_bits_in_less_memory_as_it_is(kTrainingOlmo, 0.95, 0.7); }

// Values are recomputed too; x0 is kept for all blocks, and the first one reads it as x.
TEST(RecomputedLayers, NanochatTrainsToTheSameBitsInLessMemory) { expect_the_same_bits_in_less_memory(kTrainingNanochat, 0.95, 0.7); }

TEST(RecomputedLayers, EncoderDecoderTrainsToTheSameBits) {
  for (const DType operands : {DType::f32, DType::bf16}) {
    const Result none = trained_encoder_decoder(Recompute::none, operands);
    expect_equal_bits(none, trained_encoder_decoder(Recompute::cheap, operands));
    expect_equal_bits(none, trained_encoder_decoder(Recompute::block, operands));
  }
}

}  // namespace
}  // namespace dikkat
