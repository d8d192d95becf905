#include "optim/averaged.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/model/trained_model.h"
#include "train/model/used_weights.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

using testing::names;

struct LastEvaluation : TrainingEvents {
  void evaluated(const EvaluationReport& r) override { report = r; }
  EvaluationReport report;
};

/// Runs that keep an average of their weights (optim.ema_decay).
class Average : public ::testing::Test {
 protected:
  Average() { write_file(folder / "corpus.txt", tiny_text()); }

  Config config(double decay) const {
    Config c = tiny_config(folder / "corpus.txt");
    c.optim.ema_decay = decay;
    c.train.eval_tokens = 0;
    c.train.eval_interval = 10;
    return c;
  }
  EvaluationReport train(const Config& c, const char* run) const {
    LastEvaluation events;
    Trainer::start(c, folder / run).run(events, [] { return false; });
    return events.report;
  }
  static double loss_of(const TrainedModel& trained, const TrainingData& data) {
    LanguageScorer scorer(*trained.model);
    Evaluator evaluator(scorer);
    return evaluator(*data.sources.front().validation->evaluation(), {})->loss;
  }

  TemporaryFolder folder;
};

TEST_F(Average, IsEvaluatedAndUsedButNotTrained) {
  const EvaluationReport with = train(config(0.9), "with"), without = train(config(0), "without");
  EXPECT_NE(with.val_loss, without.val_loss);

  const Trainer again = Trainer::resume(folder / "with", {});
  const TrainedModel used = load_trained_model((folder / "with").string(), {.choice = CheckpointChoice::newest});
  EXPECT_EQ(loss_of(used, again.data()), with.val_loss) << "the loss of a run is that of its resulting model";

  // The weights equal those of a run without an average.
  const auto checkpoint = [&](const char* run) { return CheckpointFile::open(folder / run / "checkpoints/step-000000020.h5"); };
  const CheckpointFile a = checkpoint("with"), b = checkpoint("without");
  bool differs = false;
  for (const StoredTensor& tensor : b.tensors()) {
    if (tensor.path.starts_with("model/")) {
      const auto size = static_cast<std::size_t>(tensor.shape.size());
      std::vector<float> of_a(size), of_b(size), average(size);
      read_weight(a, tensor.path, tensor.shape, Weights::trained, of_a.data());
      read_weight(b, tensor.path, tensor.shape, Weights::used, of_b.data());
      read_weight(a, tensor.path, tensor.shape, Weights::used, average.data());
      EXPECT_EQ(of_a, of_b) << tensor.path;
      differs = differs || average != of_a;
    }
  }
  EXPECT_TRUE(differs);
}

TEST_F(Average, ContinuesToTheSameBits) {
  train(config(0.9), "whole");
  {
    TrainingEvents events;
    Trainer first = Trainer::start(config(0.9), folder / "parts");
    int left = 7;
    EXPECT_EQ(first.run(events, [&] { return --left == 0; }), Trainer::Outcome::stopped);
  }
  TrainingEvents events;
  Trainer::resume(folder / "parts", {}).run(events, [] { return false; });
  EXPECT_EQ(contents(folder / "parts/checkpoints/step-000000020.h5"), contents(folder / "whole/checkpoints/step-000000020.h5"));
}

TEST_F(Average, OfAdaptersIsAddedToTheBaseThatWasUsed) {
  train(config(0.9), "base");
  Config c = config(0.8);
  c.train.init_from = (folder / "base").string();
  c.lora.rank = 2;
  for (const auto& [name, saved] : {std::pair("tuned", std::vector<std::string>{}), std::pair("saved", std::vector<std::string>{"head"})}) {
    SCOPED_TRACE(name);
    c.lora.modules_to_save = saved;
    const EvaluationReport tuned = train(c, name);
    const TrainedModel used = load_trained_model((folder / name).string(), {.choice = CheckpointChoice::newest});
    const Trainer again = Trainer::resume(folder / name, {});
    EXPECT_NEAR(loss_of(used, again.data()), tuned.val_loss, 1e-6) << "adapters are added to the weights in another order";
  }
}

TEST_F(Average, IsFixedWhenARunStarts) {
  train(config(0.9), "run");
  EXPECT_TRUE(
      names(testing::error_of([&] { Trainer::resume(folder / "run", {.overrides = {"optim.ema_decay=0"}}); }), {"optim.ema_decay"}));
}

}  // namespace
}  // namespace dikkat
