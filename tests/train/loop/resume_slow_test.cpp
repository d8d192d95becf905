// Sixty steps in one go, and a stop after any of them with any number of threads before and after it, end in the same bytes.
#include "autograd/base/parallel.h"
#include "tests/train/loop/tiny_run.h"

namespace dikkat {
namespace {

constexpr index kSteps = 60;

class ResumeAtEveryStep : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(ResumeAtEveryStep, gives_the_same_bytes) {
  const auto [kind, threads] = GetParam();
  const bool pairs = kind == std::string("encoder_decoder");
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", pairs ? tiny_pairs() : tiny_text());
  Config config = pairs ? tiny_pairs_config(folder / "corpus.txt") : tiny_config(folder / "corpus.txt");
  config.train.max_steps = kSteps;
  config.optim.decay_steps = kSteps;
  config.train.eval_interval = 9;
  config.train.checkpoint_interval = 14;
  const int threads_before = thread_count();
  TrainingEvents quiet;

  const auto end_of = [](const std::filesystem::path& run) {
    return contents(checkpoint_directory(run) / checkpoint_name(kSteps)) + contents(checkpoint_directory(run) / "best");
  };
  std::string expected;
  std::vector<std::string> expected_metrics;
  {
    Trainer trainer = Trainer::start(config, folder / "whole");
    ASSERT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
    ASSERT_GE(trainer.state().epoch, 2) << "the case is void: no epoch ends inside";
    expected = end_of(folder / "whole");
    expected_metrics = timeless_metrics(folder / "whole");
  }

  // A run that is stopped after every step; from each of its stops another one goes on to the end.
  const std::filesystem::path stopped = folder / "stopped";
  const auto stop_at = [&quiet](Trainer trainer, index step) { trainer.run(quiet, [&] { return trainer.state().step >= step; }); };
  set_thread_count(threads % 3 + 1);
  stop_at(Trainer::start(config, stopped), 1);
  for (index step = 1; step < kSteps; ++step) {
    const std::filesystem::path run = folder / concat("from-", step);
    std::filesystem::copy(stopped, run, std::filesystem::copy_options::recursive);
    set_thread_count(threads);
    {
      Trainer trainer = Trainer::resume(run, {});
      ASSERT_EQ(trainer.state().step, step);
      ASSERT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
    }
    ASSERT_TRUE(end_of(run) == expected) << "stopped at step " << step;
    ASSERT_EQ(timeless_metrics(run), expected_metrics) << "stopped at step " << step;
    std::filesystem::remove_all(run);
    set_thread_count(static_cast<int>(step % 3) + 1);
    stop_at(Trainer::resume(stopped, {}), step + 1);
  }
  EXPECT_TRUE(end_of(stopped) == expected);
  set_thread_count(threads_before);
}

INSTANTIATE_TEST_SUITE_P(Models, ResumeAtEveryStep,
                         ::testing::Combine(::testing::Values("gpt", "encoder_decoder"), ::testing::Values(1, 2, 3, 4, 8)),
                         [](const auto& p) { return concat(std::get<0>(p.param), "_on_", std::get<1>(p.param)); });

}  // namespace
}  // namespace dikkat
