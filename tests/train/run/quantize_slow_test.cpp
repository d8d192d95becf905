// These tests compare what a q4_0 export loses with and without training for it (train.quantize).
#include "tests/train/run/tiny_run.h"
#include "train/model/rounded_weights.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"

namespace dikkat {
namespace {

struct Losses {
  double exact = 0, rounded = 0;
};

/// Trains the recipe of the quickstart, and measures the whole validation part.
Losses losses_of(Quantize quantize) {
  const TemporaryFolder folder;
  const std::filesystem::path source = DIKKAT_SOURCE_DIR;
  Config config = parse_config(contents(source / "configs/quickstart.toml"), "quickstart");
  config.data.corpus = {source / "data/tales.txt"};
  config.train.seed = 1;
  config.train.quantize = quantize;
  config.train.quantize_share = 0.2;  // the best for this recipe (docs/RECIPES.md)
  config.train.eval_interval = config.train.max_steps;
  resolve(config);
  TrainingEvents quiet;
  Trainer::start(config, folder / "run").run(quiet, never);

  const TrainedModel trained = load_trained_model(folder / "run", {.choice = CheckpointChoice::newest});
  const Trainer again = Trainer::resume(folder / "run", {});
  Evaluator evaluator(*trained.model);
  const auto loss = [&] { return evaluator(*again.data().sources.front().validation.samples, {})->loss; };
  Losses losses{.exact = loss()};
  RoundedWeights rounded(trained.model->parameters());
  rounded.reserve();
  const ShownRounded shown(&rounded);
  losses.rounded = loss();
  return losses;
}

TEST(QuantizedSlow, LosesLessThanAFifthOfRoundingAfterwards) {
  const Losses ordinary = losses_of(Quantize::none), quantized = losses_of(Quantize::q4);
  EXPECT_GT(ordinary.rounded, ordinary.exact);
  EXPECT_LT(quantized.rounded - ordinary.exact, (ordinary.rounded - ordinary.exact) / 5)
      << "exact " << ordinary.exact << ", rounded afterwards " << ordinary.rounded << ", trained for it " << quantized.rounded;
}

}  // namespace
}  // namespace dikkat
