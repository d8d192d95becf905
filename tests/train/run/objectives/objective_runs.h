#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/train/run/tiny_run.h"

namespace dikkat {

struct RunRecorder : TrainingEvents {
  void stepped(const StepReport& r) override { steps.push_back(r); }
  void evaluated(const EvaluationReport& r) override { evaluations.push_back(r); }
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
};

/// A folder with a base model, from which runs with an objective of their own start.
class ObjectiveRuns : public ::testing::Test {
 protected:
  /// Trains the base for two steps. `form` sets what all runs have in common with it.
  explicit ObjectiveRuns(std::function<void(Config&)> form) : form_(std::move(form)) {
    write_file(folder / "text.txt", tiny_text());
    Config base = formed("text.txt");
    base.train.max_steps = 2;
    resolve(base);
    TrainingEvents nobody;
    Trainer::start(base, folder / "base").run(nobody, never);
  }

  /// Returns the configuration of a run of 12 steps from the base, which is not resolved.
  Config from_base(const char* corpus, index rank) const {
    Config c = formed(corpus);
    c.train.init_from = (folder / "base").string();
    c.lora.rank = rank;
    c.optim.learning_rate = 1e-2;
    c.optim.warmup_steps = 0;
    c.train.batch_size = 2;
    c.train.gradient_accumulation_steps = 2;
    c.train.max_steps = 12;
    c.train.eval_interval = 6;
    c.train.eval_tokens = 0;
    return c;
  }
  RunRecorder train(const Config& c, const std::string& run) const {
    RunRecorder events;
    Trainer::start(c, folder / run).run(events, never);
    return events;
  }

  TemporaryFolder folder;

 private:
  Config formed(const char* corpus) const {
    Config c = tiny_config(folder / corpus);
    c.data.window = {};
    form_(c);
    return c;
  }

  std::function<void(Config&)> form_;
};

}  // namespace dikkat
