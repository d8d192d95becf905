// These tests compare what a q4_0 export loses with and without training for it (train.quantize).
#include "tests/train/run/tiny_run.h"
#include "train/model/fake_quantized_weights.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

struct Losses {
  double exact = 0, rounded = 0;
};

/// Trains a small model with the recipe of the quickstart, and measures the whole validation part.
Losses losses_of(Quantize quantize, std::uint64_t seed) {
  const TemporaryFolder folder;
  const std::filesystem::path source = DIKKAT_SOURCE_DIR;
  Config config = parse_config(contents(source / "configs/quickstart.toml"), "quickstart");
  config.data.corpus = {source / "data/tales.txt"};
  config.train.seed = seed;
  config.model.n_layer = 2;
  config.model.n_embd = 64;
  config.train.max_steps = 300;
  config.train.quantize = quantize;
  config.train.quantize_share = 0.2;  // the best for this recipe (bench/results/ablations-four-bits.md)
  config.train.eval_interval = config.train.max_steps;
  resolve(config);
  TrainingEvents quiet;
  Trainer::start(config, folder / "run").run(quiet, never);

  const TrainedModel trained = load_trained_model(folder / "run", {.choice = CheckpointChoice::newest});
  const Trainer again = Trainer::resume(folder / "run", {});
  LanguageScorer scorer(*trained.model);
  Evaluator evaluator(scorer);
  const auto loss = [&] { return evaluator(*again.data().sources.front().validation->evaluation(), {})->loss; };
  Losses losses{.exact = loss()};
  FakeQuantizedWeights rounded(trained.model->parameters());
  rounded.reserve();
  rounded.show();
  losses.rounded = loss();
  return losses;
}

// The loss of one run depends on the processor's roundings by as much as a q4_0 export costs, so these are sums of several.
TEST(QuantizedSlow, RoundingCostsLessThanAThirdAndTheLossIsLower) {
  double cost_afterwards = 0, cost_trained = 0, difference = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Losses ordinary = losses_of(Quantize::none, seed), quantized = losses_of(Quantize::q4, seed);
    cost_afterwards += ordinary.rounded - ordinary.exact;
    cost_trained += quantized.rounded - quantized.exact;
    difference += quantized.rounded - ordinary.rounded;
  }
  EXPECT_GT(cost_afterwards, 0);
  EXPECT_LT(cost_trained, cost_afterwards / 3);
  EXPECT_LT(difference, 0);
}

}  // namespace
}  // namespace dikkat
