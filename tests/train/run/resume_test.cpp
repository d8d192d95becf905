// N steps without a stop, and k steps, a stop and N - k more, end in the same bytes: checkpoint, losses and all.
#include "autograd/base/parallel.h"
#include "tests/support/sanitized.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

using testing::names;

class Resume : public ::testing::TestWithParam<const char*> {
 protected:
  Resume() {
    const std::string_view kind = GetParam();
    const bool pairs = kind.starts_with("encoder_decoder");
    write_file(corpus, pairs ? tiny_pairs() : tiny_text());
    config = pairs ? tiny_pairs_config(corpus) : tiny_config(corpus);
    if (kind.find("llama") != std::string_view::npos) {
      make_llama(config);
    }
    if (kind.ends_with("muon")) {  // normuon too
      config.optim.kind = OptimizerKind::muon;
    }
    if (kind.ends_with("normuon")) {  // every state and schedule that an optimizer has
      config.optim.muon_normalize = true;
      config.optim.muon_coefficients = MuonCoefficients::turbo;
      config.optim.muon_momentum_start = 0.8;
      config.optim.muon_momentum_warmup_steps = 9;
      config.optim.muon_momentum_end = 0.85;
      config.optim.cautious_decay = true;
      config.optim.weight_decay_schedule = UpdateSchedule::WeightDecay::cosine;
      config.train.accumulation_schedule = {"4:1", "11:4"};
      resolve(config);
    }
    if (kind.ends_with("lanes")) {
      config.train.gradient_accumulation_steps = 4;
      config.train.lanes = 4;
    }
    if (kind.ends_with("sgd")) {
      config.optim.kind = OptimizerKind::sgd;
      config.optim.sgd_nesterov = true;
    }
    if (kind.ends_with("bf16")) {
      config.train.precision = Precision::bf16;
      config.train.emulate_bf16 = true;
    }
    Trainer trainer = Trainer::start(config, whole());
    TrainingEvents quiet;
    EXPECT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
  }
  ~Resume() override { set_thread_count(threads_before); }

  std::filesystem::path whole() const { return folder / "whole"; }
  static std::string final_checkpoint(const std::filesystem::path& run) {
    return contents(checkpoint_directory(run) / checkpoint_name(20));
  }

  void expect_same_end(const std::filesystem::path& run) const {
    EXPECT_TRUE(final_checkpoint(run) == final_checkpoint(whole())) << run;
    EXPECT_EQ(timeless_metrics(run), timeless_metrics(whole()));
    EXPECT_EQ(contents(checkpoint_directory(run) / "best"), contents(checkpoint_directory(whole()) / "best"));
  }

  TemporaryFolder folder;
  std::filesystem::path corpus = folder / "corpus.txt";
  Config config;
  int threads_before = thread_count();
};

TEST_P(Resume, after_a_stop_gives_the_same_bytes_on_any_number_of_threads) {
  for (const int stop : {1, 2, 6, 10, 13, 19}) {  // every step: resume_slow_test
    const auto run = folder / ("stopped-" + std::to_string(stop));
    TrainingEvents quiet;
    set_thread_count(1 + stop % 3);
    {
      Trainer trainer = Trainer::start(config, run);
      EXPECT_EQ(trainer.run(quiet, after(stop)), Trainer::Outcome::stopped);
    }
    set_thread_count(1 + (stop + 1) % 4);
    Trainer trainer = Trainer::resume(run, {});
    EXPECT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
    expect_same_end(run);
  }
}

TEST_P(Resume, with_recomputation_gives_the_same_losses) {
  const auto run = folder / "recomputed";
  TrainingEvents quiet;
  EXPECT_EQ(Trainer::start(config, run).run(quiet, after(7)), Trainer::Outcome::stopped);
  EXPECT_EQ(Trainer::resume(run, {.overrides = {"train.recompute=block"}}).run(quiet, after(5)), Trainer::Outcome::stopped);
  EXPECT_EQ(Trainer::resume(run, {.overrides = {"train.recompute=cheap"}}).run(quiet, never), Trainer::Outcome::finished);
  EXPECT_EQ(timeless_metrics(run), timeless_metrics(whole()));
}

TEST_P(Resume, many_times_gives_the_same_bytes) {
  const auto run = folder / "often";
  TrainingEvents quiet;
  Trainer::Outcome outcome = Trainer::start(config, run).run(quiet, after(2));
  for (int round = 0; outcome == Trainer::Outcome::stopped && round < 50; ++round) {
    outcome = Trainer::resume(run, {}).run(quiet, after(2));
  }
  EXPECT_EQ(outcome, Trainer::Outcome::finished);
  expect_same_end(run);
}

/// A killed process leaves its last checkpoint and a log with later lines: as when everything after step 8 had been cut off.
TEST_P(Resume, after_a_kill_writes_the_lost_steps_again) {
  const auto run = folder / "killed";
  TrainingEvents quiet;
  {
    Trainer::start(config, run).run(quiet, after(8));
  }
  std::ofstream(run / "metrics.jsonl", std::ios::app) << R"({"event":"step","step":9,"loss":1.5,"ms":1})" << '\n'
                                                      << R"({"event":"step","st)";
  Trainer::resume(run, {}).run(quiet, never);
  expect_same_end(run);
}

TEST_P(Resume, of_a_finished_run_knows_that_it_is_finished) {
  const std::string before = contents(whole() / "metrics.jsonl");
  Trainer trainer = Trainer::resume(whole(), {});
  EXPECT_TRUE(trainer.finished());
  EXPECT_EQ(trainer.state().best_step, best_checkpoint(whole())->step);
  EXPECT_EQ(contents(whole() / "metrics.jsonl"), before);
}

TEST_P(Resume, with_more_steps_does_not_bend_the_schedule_that_was_run) {
  Trainer trainer = Trainer::resume(whole(), {.overrides = {"train.max_steps=24"}});
  EXPECT_FALSE(trainer.finished());
  EXPECT_EQ(trainer.config().optim.decay_steps, 20);
  EXPECT_TRUE(names(trainer.state().overrides, {"train.max_steps=24"}));
  const bool is_cosine = trainer.config().optim.schedule == Schedule::Kind::cosine;
  ASSERT_EQ(trainer.remarks().size(), is_cosine ? 2U : 1U);
  EXPECT_TRUE(names(trainer.remarks().front(), {"train.max_steps", "24", "20"}));
  if (is_cosine) {
    EXPECT_TRUE(names(trainer.remarks().back(), {"20", "optim.min_lr = 0.001", "optim.decay_steps"}));
  }
  TrainingEvents quiet;
  EXPECT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
  EXPECT_EQ(trainer.state().step, 24);
}

TEST_P(Resume, refuses_a_corpus_that_changed_and_does_not_change_the_run) {
  std::string text = contents(corpus);
  text[100] = text[100] == 'h' ? 'g' : 'h';
  write_file(corpus, text);
  const std::string before = contents(whole() / "metrics.jsonl");
  try {
    Trainer::resume(whole(), {.overrides = {"train.max_steps=24"}});
    FAIL() << "a changed corpus was accepted";
  } catch (const InputError& e) {
    EXPECT_TRUE(names(e.what(), {"corpus", "changed", "sha256"}));
  }
  EXPECT_EQ(contents(whole() / "metrics.jsonl"), before);
}

TEST_P(Resume, refuses_overrides_of_fixed_keys) {
  EXPECT_THROW(Trainer::resume(whole(), {.overrides = {"model.n_layer=3"}}), InputError);
  EXPECT_THROW(Trainer::resume(whole(), {.overrides = {"train.seed=3"}}), InputError);
}

TEST_P(Resume, an_evaluation_that_was_cut_off_is_run) {
  const auto run = folder / "mid-evaluation";
  TrainingEvents quiet;
  // Steps 1 to 5 ask once each. Step 6 asks once after the step, then its evaluation asks and gets true.
  {
    EXPECT_EQ(Trainer::start(config, run).run(quiet, after(6)), Trainer::Outcome::stopped);
  }
  EXPECT_TRUE(open_checkpoint(run).state().evaluation_pending);
  EXPECT_EQ(timeless_metrics(run).size(), 6U);
  Trainer::resume(run, {}).run(quiet, never);
  expect_same_end(run);
}

/// A wsd run of 20 steps whose rate falls from step 12 on.
struct ResumeWsd : ::testing::Test {
  ResumeWsd() {
    write_file(folder / "corpus.txt", tiny_text());
    config = tiny_config(folder / "corpus.txt");
    config.optim.schedule = Schedule::Kind::wsd;
    config.optim.decay_share = 0.4;
  }
  /// The rates of the steps, which begin at 0.
  std::vector<double> rates_of(Trainer& trainer, const std::function<bool()>& stop) const {
    struct Rates : TrainingEvents {
      void stepped(const StepReport& r) override { all.push_back(r.learning_rate); }
      std::vector<double> all;
    } rates;
    trainer.run(rates, stop);
    return rates.all;
  }

  TemporaryFolder folder;
  Config config;
};

TEST_F(ResumeWsd, that_is_finished_goes_back_to_the_stable_rate_and_falls_at_the_new_end) {
  {
    Trainer trainer = Trainer::start(config, folder / "run");
    const auto rates = rates_of(trainer, never);
    EXPECT_EQ(rates[12], 1e-2);
    EXPECT_LT(rates[13], 1e-2);
    EXPECT_LT(rates[19], 3e-3);
  }
  Trainer trainer = Trainer::resume(folder / "run", {.overrides = {"train.max_steps=40"}});
  EXPECT_EQ(trainer.config().optim.decay_steps, 40);
  ASSERT_EQ(trainer.remarks().size(), 3U);
  EXPECT_TRUE(names(trainer.remarks()[0], {"optim.decay_steps", "40", "20"}));
  EXPECT_TRUE(names(trainer.remarks()[1], {"train.max_steps", "40", "20"}));
  EXPECT_TRUE(names(trainer.remarks()[2], {"0.001", "0.01", "step 20", "step 24", "step 40", "optim.schedule = \"wsd\""}));
  const auto rates = rates_of(trainer, never);
  ASSERT_EQ(rates.size(), 20U);
  EXPECT_EQ(rates[0], 1e-2);
  EXPECT_EQ(rates[4], 1e-2);
  EXPECT_LT(rates[5], 1e-2);
  EXPECT_LT(rates[19], 2e-3);
}

TEST_F(ResumeWsd, that_has_not_fallen_yet_is_the_run_that_was_long_from_the_start) {
  {
    Trainer trainer = Trainer::start(config, folder / "run");
    rates_of(trainer, after(10));
  }
  Trainer trainer = Trainer::resume(folder / "run", {.overrides = {"train.max_steps=30"}});
  EXPECT_TRUE(names(trainer.remarks().back(), {"0.01", "step 18", "0.001", "step 30", "optim.schedule = \"wsd\""}));
  rates_of(trainer, never);
  config.train.max_steps = 30;
  resolve(config);
  Trainer whole = Trainer::start(config, folder / "whole");
  rates_of(whole, never);
  EXPECT_EQ(timeless_metrics(folder / "run"), timeless_metrics(folder / "whole"));
}

TEST_F(ResumeWsd, to_an_end_within_its_warm_up_reports_it) {
  {
    Trainer trainer = Trainer::start(config, folder / "run");
    rates_of(trainer, after(2));
  }
  Trainer trainer = Trainer::resume(folder / "run", {.overrides = {"train.max_steps=30", "optim.warmup_steps=30"}});
  EXPECT_TRUE(names(trainer.remarks().back(), {"warm-up", "optim.warmup_steps = 30", "train.max_steps = 30", "optim.learning_rate"}));
}

TEST_F(ResumeWsd, whose_end_is_written_stays_at_the_lowest_rate) {
  config.optim.decay_steps = 20;
  {
    Trainer trainer = Trainer::start(config, folder / "run");
    rates_of(trainer, never);
  }
  Trainer trainer = Trainer::resume(folder / "run", {.overrides = {"train.max_steps=24"}});
  EXPECT_TRUE(names(trainer.remarks().back(), {"20", "optim.min_lr = 0.001", "optim.decay_steps"}));
}

INSTANTIATE_TEST_SUITE_P(Of, Resume,
                         ::testing::ValuesIn(testing::kSanitized
                                                 ? std::vector<const char*>{"encoder_decoder_llama", "gpt_normuon"}
                                                 // others take long there
                                                 : std::vector<const char*>{"gpt", "encoder_decoder", "gpt_bf16", "encoder_decoder_bf16",
                                                                            "llama", "llama_muon", "encoder_decoder_llama", "gpt_normuon",
                                                                            "gpt_sgd", "gpt_lanes"}),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace dikkat
