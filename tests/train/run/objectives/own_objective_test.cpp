#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "tests/train/run/tiny_run.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"
#include "train/run/objectives/language_scorer.h"

// A run that learns something that no file of the program knows: the token after the next one. This file is the example of how to write an
// objective (docs/DESIGN.md, "How to add"): it trains, evaluates, reports and resumes.
namespace dikkat {
namespace {

/// Returns the batch with the target of each position replaced by that of the next position. The last position of a row has none.
Batch with_later_targets(const Batch& batch) {
  Batch later = batch;
  const index cols = batch.lengths.cols;
  for (index row = 0; row < batch.rows; ++row) {
    for (index i = row * cols; i < (row + 1) * cols; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool has_later = i + 1 < (row + 1) * cols;
      later.targets[at] = has_later ? batch.targets[at + 1] : 0;
      later.weights[at] = has_later ? batch.weights[at + 1] : 0;
    }
  }
  return later;
}

/// A sample's numbers: the sum of its losses, and how many there are.
class LaterScorer : public Scorer {
 public:
  explicit LaterScorer(const LanguageModel& model) : language_(model) {}

  index numbers_of(const Samples&, index) const override { return 2; }
  void score(Pass& pass, const Batch& batch, std::span<double> numbers) override {
    const Batch later = with_later_targets(batch);
    const std::span<const double> losses = language_.losses(pass, later);
    for (std::size_t i = 0; i < losses.size() && !numbers.empty(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(batch.lengths.cols);
      numbers[2 * row] += losses[i];
      numbers[2 * row + 1] += later.weights[i];
    }
  }
  void judge(const Samples&, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
             Evaluation& result) override {
    double most = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      losses.push_back({.of = {.loss = numbers[2 * i], .weight = numbers[2 * i + 1]}});
      most = std::max(most, numbers[2 * i] / numbers[2 * i + 1]);
    }
    result.metrics = {{.name = "later_worst", .value = most, .label = "worst"}};
  }

 private:
  LanguageScorer language_;
};

class LaterObjective : public Objective {
 public:
  explicit LaterObjective(const LanguageModel& model) : model_(model) {}

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override {
    const Batch later = with_later_targets(batch);
    report.sums[0] = 1;
    const auto cols = static_cast<double>(batch.lengths.cols);
    return model_.loss(pass, later, batch.step_weight * (cols - 1) / cols);
  }
  std::size_t sums() const override { return 1; }
  void report(std::span<const double> sums, StepReport& report) const override {
    report.metrics = {{.name = "later_passes", .value = sums[0]}};
  }
  std::unique_ptr<Scorer> scorer() const override { return std::make_unique<LaterScorer>(model_); }
  std::unique_ptr<Objective> twin() const override { return std::make_unique<LaterObjective>(model_); }

 private:
  const LanguageModel& model_;
};

std::unique_ptr<Objective> make_later(const ObjectiveParts& run) { return std::make_unique<LaterObjective>(run.model); }

class OwnObjective : public ::testing::Test {
 protected:
  OwnObjective() { write_file(folder / "text.txt", tiny_text()); }

  Config config() const {
    Config c = tiny_config(folder / "text.txt");
    c.train.max_steps = 60;
    c.train.eval_interval = 20;
    c.train.eval_tokens = 0;
    return c;
  }
  Trainer start(const char* name) const { return Trainer::start(config(), folder / name, {}, std::make_shared<Ranks>(), {}, make_later); }

  TemporaryFolder folder;
  TrainingEvents quiet;
};

/// Returns the mean loss of the model's predictions of the token after the next one, computed from the logits of each window.
double mean_later_loss(const LanguageModel& model, const Samples& text) {
  double sum = 0, count = 0;
  for (index sample = 0; sample < text.count(); ++sample) {
    Batch batch;
    batch.reshape(1, text.lengths(sample));
    text.fill(0, sample, 0, batch);
    const index cols = batch.lengths.cols;
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const Tensor logits = model.gpt()(pass, tape.input<Token>({1, cols}, batch.inputs));
    const auto* const row = logits.data<float>();
    for (index i = 0; i + 1 < cols; ++i) {
      if (batch.weights[static_cast<std::size_t>(i) + 1] == 0) {
        continue;
      }
      const index vocabulary = logits.shape().cols();
      double exponentials = 0;
      for (index token = 0; token < vocabulary; ++token) {
        exponentials += std::exp(static_cast<double>(row[i * vocabulary + token]));
      }
      sum += std::log(exponentials) - static_cast<double>(row[i * vocabulary + batch.targets[static_cast<std::size_t>(i) + 1]]);
      count += 1;
    }
  }
  return sum / count;
}

TEST_F(OwnObjective, TrainsAndIsEvaluatedAndReported) {
  start("run").run(quiet, never);
  const RunHistory history = read_history(folder / "run");
  ASSERT_EQ(history.steps.size(), 60U);
  EXPECT_LT(history.steps.back().report.loss, history.steps.front().report.loss - 0.3);
  EXPECT_EQ(value_of(history.steps.back().report.metrics, "later_passes"), 3) << "the micro-batches of a step";
  ASSERT_EQ(history.evaluations.size(), 3U);
  const EvaluationReport& last = history.evaluations.back().report;
  EXPECT_GT(value_of(last.metrics, "later_worst"), last.val_loss);

  const TrainedModel trained = load_trained_model(folder / "run", {.choice = CheckpointChoice::newest});
  const Trainer again = Trainer::resume(folder / "run", {}, {}, std::make_shared<Ranks>(), make_later);
  const Samples& held_out = *again.data().sources.front().validation->evaluation();
  EXPECT_NEAR(last.val_loss, mean_later_loss(*trained.model, held_out), 1e-5);
}

TEST_F(OwnObjective, GivesTheSameBitsWhenItIsStoppedAndResumed) {
  start("whole").run(quiet, never);
  ASSERT_EQ(start("parts").run(quiet, after(23)), Trainer::Outcome::stopped);
  Trainer::resume(folder / "parts", {}, {}, std::make_shared<Ranks>(), make_later).run(quiet, never);
  EXPECT_EQ(timeless_metrics(folder / "parts"), timeless_metrics(folder / "whole"));
  const char* const last = "checkpoints/step-000000060.h5";
  EXPECT_EQ(contents(folder / "parts" / last), contents(folder / "whole" / last));
}

}  // namespace
}  // namespace dikkat
