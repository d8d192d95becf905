// Several sequences share a row: each has the loss and the gradients of a row with nothing else.

#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

constexpr index kPackedVocabulary = 40;
constexpr index kPackedLengths[] = {70, 3, 41, 1};  // these cross attention's tiles
constexpr index kPackedTime = 120;                  // the last five are padding

struct LossAndGradients {
  double loss = 0;
  std::vector<double> gradients{};
};

void add(LossAndGradients& sum, TinyGpt& model, const Tensor& features, Tape& tape, const std::vector<std::int32_t>& targets,
         const std::vector<float>& weights) {
  const Shape shape{1, static_cast<index>(targets.size())};
  const Tensor loss = linear_cross_entropy(features, model.gpt.head(), tape.input<std::int32_t>(shape, targets),
                                           {.weights = tape.input<float>(shape, weights), .normalizer = 1});
  model.store.clear_gradients();
  tape.backward(loss);
  model.store.complete_gradients();
  sum.loss += static_cast<double>(*loss.data<float>());
  sum.gradients.resize(static_cast<std::size_t>(model.store.slab_size()));
  for (std::size_t i = 0; i < sum.gradients.size(); ++i) {
    sum.gradients[i] += static_cast<double>(model.store.gradients<float>()[i]);
  }
}

class PackedRows : public ::testing::TestWithParam<std::tuple<Positions, Recompute, index>> {};

TEST_P(PackedRows, AreLikeSingleSequences) {
  const auto [positions, recompute, window] = GetParam();
  TransformerConfig config{
      .n_layer = 2, .n_head = 2, .n_embd = 32, .block_size = kPackedTime, .vocab_size = kPackedVocabulary, .dropout = 0};
  config.positions = positions;
  config.window = window;
  TinyGpt model(config);
  std::vector<std::int32_t> tokens = some_tokens(kPackedTime, kPackedVocabulary);
  const std::vector<std::int32_t> targets = some_tokens(kPackedTime, kPackedVocabulary, 2);
  std::vector<std::int32_t> starts(kPackedTime);
  std::vector<float> weights(kPackedTime);
  // Compute each sequence in its own row.
  LossAndGradients alone;
  index at = 0;
  for (const index length : kPackedLengths) {
    const auto part = [&](const std::vector<std::int32_t>& all) {
      return std::vector<std::int32_t>(all.begin() + at, all.begin() + at + length);
    };
    Tape tape;
    Pass pass{.tape = tape, .recompute = recompute};
    const Tensor features = model.gpt.features(pass, tape.input<std::int32_t>({1, length}, part(tokens)));
    add(alone, model, features, tape, part(targets), std::vector<float>(static_cast<std::size_t>(length), 1.0F));
    std::fill_n(starts.begin() + at, length, static_cast<std::int32_t>(at));
    std::fill_n(weights.begin() + at, length, 1.0F);
    at += length;
  }
  for (; at < kPackedTime; ++at) {
    starts[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(at);
  }
  // Compute all sequences in one row.
  LossAndGradients packed;
  Tape tape;
  Pass pass{.tape = tape, .recompute = recompute};
  const Tensor features =
      model.gpt.features(pass, tape.input<std::int32_t>({1, kPackedTime}, tokens), tape.input<std::int32_t>({1, kPackedTime}, starts));
  add(packed, model, features, tape, targets, weights);
  EXPECT_NEAR(packed.loss, alone.loss, 1e-5 * alone.loss);
  for (std::size_t i = 0; i < alone.gradients.size(); ++i) {
    ASSERT_NEAR(packed.gradients[i], alone.gradients[i], 2e-5 * (1 + std::abs(alone.gradients[i]))) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, PackedRows,
                         ::testing::Combine(::testing::Values(Positions::rope, Positions::learned, Positions::sinusoidal),
                                            ::testing::Values(Recompute::none, Recompute::block), ::testing::Values(0, 20)));

}  // namespace
}  // namespace dikkat
