#include "train/run/bad_step.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/run/trial.h"

namespace dikkat {
namespace {

using testing::names;

using Json = nlohmann::json;

/// In some steps of a run, replaces the first number of an op's result in the second pass. The op runs `calls` times in a step, and
/// `of_pass` selects one of those in a pass.
class Poison : public Profile {
 public:
  struct Site {
    std::string op;
    index calls = 0;
    index of_pass = 0;
  };
  Poison(Site site, std::vector<index> steps, float value = std::numeric_limits<float>::quiet_NaN())
      : site_(std::move(site)), steps_(std::move(steps)), value_(value) {}

  void forward_ends(const OpRun& run) override {
    Profile::forward_ends(run);
    if (run.op == site_.op) {
      const bool in_step = std::find(steps_.begin(), steps_.end(), 1 + calls_ / site_.calls) != steps_.end();
      if (in_step && calls_ % site_.calls == site_.calls / 3 + site_.of_pass) {
        const_cast<float*>(run.outputs.front().data<float>())[0] = value_;
      }
      ++calls_;
    }
  }

 private:
  Site site_;
  std::vector<index> steps_;
  float value_;
  index calls_ = 0;
};

const Poison::Site kGelu{.op = "gelu", .calls = 6};  // two blocks, three passes
const Poison::Site kFinalNorm{.op = "layer_norm", .calls = 6, .of_pass = 1};

struct Told : TrainingEvents {
  void stepped(const StepReport& r) override { steps.push_back(r); }
  void skipped(const std::string& what) override { skips.push_back(what); }
  void write_failed(const std::string& what) override { failures.push_back(what); }
  void evaluated(const EvaluationReport& r) override { evaluations.push_back(r); }
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<std::string> skips, failures;
};

class BadStepTest : public ::testing::Test {
 protected:
  BadStepTest() { write_file(folder / "corpus.txt", tiny_text()); }
  Config config() const { return tiny_config(folder / "corpus.txt"); }
  std::filesystem::path run() const { return folder / "run"; }

  /// The message of a run that ends with an error.
  static std::string failure_of(Trainer& trainer, TrainingEvents& events) {
    try {
      trainer.run(events, never);
    } catch (const InputError& e) {
      ADD_FAILURE() << "bad input: " << e.what();
    } catch (const Error& e) {
      return e.what();
    }
    ADD_FAILURE() << "continued";
    return "";
  }

  TemporaryFolder folder;
};

std::string weights_of(const Trainer& trainer) {
  auto& store = const_cast<ParameterStore&>(trainer.model().parameters());
  return {reinterpret_cast<const char*>(store.weights<float>()), static_cast<std::size_t>(store.slab_size()) * sizeof(float)};
}

TEST_F(BadStepTest, stops_before_the_update_and_writes_its_batch) {
  Trainer trainer = Trainer::start(config(), run());
  Poison poison(kGelu, {7});
  trainer.set_profile(&poison);
  Told events;
  const std::string text = failure_of(trainer, events);
  EXPECT_TRUE(names(text, {"step 7", "loss", "NaN", "gradient of ", "bad-step-7.json", checkpoint_name(6), "train.on_nonfinite=skip"}));
  EXPECT_EQ(trainer.state().step, 6);
  EXPECT_EQ(open_checkpoint(run()).state().step, 6);

  const Json bad = Json::parse(contents(run() / "bad-step-7.json"));
  EXPECT_EQ(bad["step"], 7);
  EXPECT_EQ(bad["loss"], "NaN");
  ASSERT_EQ(bad["batches"].size(), 3U);
  EXPECT_EQ(bad["batches"][1]["loss"], "NaN");
  EXPECT_TRUE(bad["batches"][0]["loss"].is_number());
  EXPECT_EQ(bad["batches"][1]["first_sample"], 6 * 15 + 5);
  ASSERT_EQ(bad["batches"][1]["rows"].size(), 5U);
  const Json& row = bad["batches"][1]["rows"][0];
  const std::string inputs = row["inputs"]["text"];
  const std::string targets = row["targets"]["text"];
  EXPECT_EQ(inputs.size(), 24U);
  EXPECT_EQ(inputs.substr(1), targets.substr(0, 23));
  EXPECT_NE(tiny_text().find(inputs), std::string::npos) << "not of the corpus: " << inputs;
}

TEST_F(BadStepTest, of_pairs_the_batch_has_sources_and_targets_without_padding) {
  write_file(folder / "pairs.tsv", tiny_pairs());
  Trainer trainer = Trainer::start(tiny_pairs_config(folder / "pairs.tsv"), run());
  Poison poison({.op = "relu", .calls = 9}, {1});
  trainer.set_profile(&poison);
  Told events;
  failure_of(trainer, events);
  const Json row = Json::parse(contents(run() / "bad-step-1.json"))["batches"][0]["rows"][2];
  const auto without_end = [](const std::string& text) { return text.substr(0, text.rfind(" <end>")); };
  const std::string pair = concat("\n", without_end(row["source"]["text"]), "\t", without_end(row["targets"]["text"]), "\n");
  EXPECT_NE(("\n" + tiny_pairs()).find(pair), std::string::npos) << row;
  EXPECT_EQ(row["inputs"]["tokens"].size(), row["targets"]["tokens"].size());
}

TEST_F(BadStepTest, skips_when_asked_counts_and_continues_the_same_after_a_stop) {
  Config c = config();
  c.train.on_nonfinite = OnNonfinite::skip;
  Told events;
  std::string whole;
  // A whole run skips two steps.
  {
    Trainer trainer = Trainer::start(c, run());
    Poison poison(kGelu, {2, 7});
    trainer.set_profile(&poison);
    EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
    EXPECT_EQ(trainer.state().steps_skipped, 2);
    whole = weights_of(trainer);
  }
  ASSERT_EQ(events.skips.size(), 2U);
  EXPECT_TRUE(names(events.skips[1], {"step 7", "gradient of ", "skipped", "2", "20"}));
  EXPECT_TRUE(events.steps[6].skipped);
  EXPECT_FALSE(events.steps[7].skipped);
  EXPECT_TRUE(std::isfinite(events.steps[19].loss));
  EXPECT_TRUE(names(contents(run() / "metrics.jsonl"), {"\"skipped\":1"}));

  // A run that is stopped between them ends with the same weights.
  const std::filesystem::path other = folder / "other";
  {
    Trainer trainer = Trainer::start(c, other);
    Poison poison(kGelu, {2});
    trainer.set_profile(&poison);
    trainer.run(events, after(4));
  }
  Trainer trainer = Trainer::resume(other, {});
  Poison poison(kGelu, {2});  // step 7 is the second after the stop
  trainer.set_profile(&poison);
  trainer.run(events, never);
  EXPECT_EQ(std::memcmp(weights_of(trainer).data(), whole.data(), whole.size()), 0);
}

TEST_F(BadStepTest, a_trial_skips_no_step_and_names_no_checkpoint) {
  Config c = config();
  c.train.on_nonfinite = OnNonfinite::skip;
  Trainer trainer = Trainer::plan(c);
  Poison poison(kGelu, {2});
  trainer.set_profile(&poison);
  try {
    run_trial(trainer, 3);
    ADD_FAILURE() << "continued";
  } catch (const Diverged& diverged) {
    EXPECT_EQ(diverged.what(), diverged.reason());
    EXPECT_TRUE(names(diverged.reason(), {"step 2", "gradient of "}));
  }
}

TEST_F(BadStepTest, ends_when_too_many_were_skipped) {
  Config c = config();
  c.train.on_nonfinite = OnNonfinite::skip;
  c.train.max_skipped = 2;
  Trainer trainer = Trainer::start(c, run());
  Poison poison(kGelu, {3, 4, 6, 7});
  trainer.set_profile(&poison);
  Told events;
  EXPECT_TRUE(names(failure_of(trainer, events), {"step 6", "2 steps", "train.max_skipped", "step-000000004.h5"}));
  EXPECT_EQ(events.skips.size(), 2U);
}

TEST_F(BadStepTest, weights_that_are_not_finite_cannot_be_skipped) {
  Config c = config();
  c.train.on_nonfinite = OnNonfinite::skip;
  Trainer trainer = Trainer::start(c, run());
  auto& store = const_cast<ParameterStore&>(trainer.model().parameters());
  static_cast<float*>(store.entry("h.0.attn.c_attn.weight").record.data)[5] = std::numeric_limits<float>::infinity();
  Told events;
  EXPECT_TRUE(names(failure_of(trainer, events), {"step 1", "weight h.0.attn.c_attn.weight", "finite"}));
}

TEST_F(BadStepTest, a_moment_that_overflows_ends_the_run_unsaved) {
  Config c = config();
  c.optim.grad_clip = 0;
  c.train.max_steps = 5;
  Trainer trainer = Trainer::start(c, run());
  Poison poison(kFinalNorm, {5}, 3e25F);  // the square of a gradient of that size is not finite in 32 bits
  trainer.set_profile(&poison);
  Told events;
  const std::string text = failure_of(trainer, events);
  EXPECT_TRUE(names(text, {"step 5", "second moment of wte.weight", "finite", "not saved", checkpoint_name(4)}));
  EXPECT_EQ(open_checkpoint(run()).state().step, 4);
}

TEST_F(BadStepTest, a_spike_is_a_bad_step_when_asked_for) {
  Config c = config();
  c.train.max_steps = 140;
  c.train.checkpoint_interval = 20;
  c.train.eval_interval = 200;
  c.train.spike_z = 8;
  Trainer trainer = Trainer::start(c, run());
  Poison poison(kFinalNorm, {130}, 3e4F);
  trainer.set_profile(&poison);
  Told events;
  EXPECT_TRUE(names(failure_of(trainer, events), {"step 130", "loss", "standard deviations", "train.spike_z", "8", checkpoint_name(120)}));
  EXPECT_LT(events.steps.size(), 130U);

  c.train.spike_z = 0;
  Trainer other = Trainer::start(c, folder / "other");
  Poison again(kFinalNorm, {130}, 3e4F);
  other.set_profile(&again);
  EXPECT_EQ(other.run(events, never), Trainer::Outcome::finished);
}

TEST_F(BadStepTest, a_save_that_fails_ends_the_run_or_not_as_configured) {
  for (const bool in_background : {true, false}) {
    Config c = config();
    c.train.async_save = in_background;
    const auto block = [&](const Trainer& trainer) {  // somebody else's file has the name of a checkpoint
      write_file(trainer.directory() / "checkpoints" / checkpoint_name(8), "mine");
    };
    const std::string name = in_background ? "background" : "foreground";
    Told events;
    {
      Trainer trainer = Trainer::start(c, folder / (name + "-stop"));
      block(trainer);
      EXPECT_TRUE(names(failure_of(trainer, events), {checkpoint_name(8), "not changed"}));
    }
    c.train.on_failed_save = OnFailedSave::continue_;
    Trainer trainer = Trainer::start(c, folder / (name + "-continue"));
    block(trainer);
    EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
    ASSERT_EQ(events.failures.size(), 1U);
    EXPECT_TRUE(names(events.failures[0], {checkpoint_name(8), "not changed"}));
    EXPECT_EQ(open_checkpoint(folder / (name + "-continue")).state().step, 20);
  }
}

/// A run that continues after a save that failed, and in which the saves of some steps fail.
class BlockedSaveTest : public BadStepTest, public ::testing::WithParamInterface<bool> {
 protected:
  Trainer start() const {
    Config c = config();
    c.train.on_failed_save = OnFailedSave::continue_;
    c.train.async_save = GetParam();
    return Trainer::start(c, run());
  }
  std::filesystem::path checkpoint(index step) const { return run() / "checkpoints" / checkpoint_name(step); }
  /// Somebody else's file has the name of a checkpoint.
  void block(index step) const { write_file(checkpoint(step), "mine"); }
};
INSTANTIATE_TEST_SUITE_P(, BlockedSaveTest, ::testing::Bool(),
                         [](const auto& mode) { return std::string(mode.param ? "in_the_background" : "in_the_foreground"); });

TEST_P(BlockedSaveTest, without_a_first_or_a_last_checkpoint_the_run_does_not_end_well) {
  for (const index step : {0, 20}) {
    std::filesystem::remove_all(run());
    Trainer trainer = start();
    block(step);
    Told events;
    EXPECT_TRUE(names(failure_of(trainer, events), {checkpoint_name(step), "not changed"}));
    EXPECT_TRUE(events.failures.empty());
  }
}

/// Stops in the evaluation after step 12, whose save fails; `unblock`: only once.
struct StopsInEvaluation : Told {
  void evaluating(double) override { stopping = stopping || steps.size() == 12; }
  void write_failed(const std::string& what) override {
    Told::write_failed(what);
    std::filesystem::remove(unblock);
  }
  bool stopping = false;
  std::filesystem::path unblock;
};

TEST_P(BlockedSaveTest, a_stop_after_a_save_that_failed_saves_once_more) {
  for (const bool passing : {true, false}) {
    std::filesystem::remove_all(run());
    Trainer trainer = start();
    block(12);
    StopsInEvaluation events;
    const auto stop = [&] { return events.stopping; };
    if (passing) {
      events.unblock = checkpoint(12);
      EXPECT_EQ(trainer.run(events, stop), Trainer::Outcome::stopped);
      EXPECT_EQ(events.failures.size(), 1U);
      EXPECT_EQ(open_checkpoint(run()).state().step, 12);
      EXPECT_TRUE(open_checkpoint(run()).state().evaluation_pending);
    } else {
      EXPECT_THROW(trainer.run(events, stop), Error) << "stopped, and reported as saved";
    }
  }
}

TEST_P(BlockedSaveTest, a_checkpoint_that_was_not_saved_is_never_the_best) {
  Trainer trainer = start();
  block(6);
  Told events;
  EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
  ASSERT_EQ(events.evaluations.size(), 4U);
  EXPECT_FALSE(events.evaluations[0].best);
  EXPECT_TRUE(events.evaluations[1].best);
}

TEST_P(BlockedSaveTest, a_name_of_the_best_that_cannot_be_written_is_reported) {
  Trainer trainer = start();
  std::filesystem::create_directories(run() / "checkpoints" / "best" / "in the way");
  Told events;
  EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
  ASSERT_FALSE(events.failures.empty());
  EXPECT_TRUE(names(events.failures[0], {"best", "written"}));
  EXPECT_EQ(trainer.state().best_step, -1);
}

TEST_P(BlockedSaveTest, a_folder_that_was_moved_away_is_left_to_the_next_run) {
  Trainer trainer = start();
  struct Moves : Told {
    void stepped(const StepReport& r) override {
      Told::stepped(r);
      if (r.step == 7) {
        std::filesystem::rename(from, to);
        std::filesystem::create_directories(from / "checkpoints");
      }
    }
    std::filesystem::path from, to;
  } events;
  events.from = run();
  events.to = folder / "elsewhere";
  EXPECT_TRUE(names(failure_of(trainer, events), {run().string(), "moved"}));
  EXPECT_TRUE(std::filesystem::is_empty(run() / "checkpoints"));
}

}  // namespace
}  // namespace dikkat
