// Sixty steps must end in the same bytes without a stop, and with a stop after any of them, on any number of threads before and after it.
// Each step is tested with one number of threads; with DIKKAT_LONG_TESTS set, with all.
#include <cstdlib>

#include "autograd/base/parallel.h"
#include "tests/train/run/tiny_run.h"

/// LLVM's OpenMP 14 loses some of its own records when the number of threads changes again and again: not our leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp"; }

namespace dikkat {
namespace {

constexpr index kSteps = 60;

std::vector<int> threads_for(index step) {
  const std::vector<int> all = {1, 2, 3, 4, 8};
  return std::getenv("DIKKAT_LONG_TESTS") != nullptr ? all : std::vector{all[static_cast<std::size_t>(step) % all.size()]};
}

class ResumeAtEveryStep : public ::testing::TestWithParam<const char*> {};

TEST_P(ResumeAtEveryStep, gives_the_same_bytes) {
  const bool pairs = GetParam() == std::string("encoder_decoder");
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
  // This run is not stopped.
  {
    Trainer trainer = Trainer::start(config, folder / "whole");
    ASSERT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
    ASSERT_GE(trainer.state().epoch, 2) << "the case is void: no epoch ends inside";
    expected = end_of(folder / "whole");
    expected_metrics = timeless_metrics(folder / "whole");
  }

  // This run is stopped after every step; from each of its stops, another one continues to the end.
  const std::filesystem::path stopped = folder / "stopped";
  const auto stop_at = [&quiet](Trainer trainer, index step) { trainer.run(quiet, [&] { return trainer.state().step >= step; }); };
  stop_at(Trainer::start(config, stopped), 1);
  for (index step = 1; step < kSteps; ++step) {
    for (const int threads : threads_for(step)) {
      const std::filesystem::path run = folder / "resumed";
      std::filesystem::copy(stopped, run, std::filesystem::copy_options::recursive);
      set_thread_count(threads);
      {
        Trainer trainer = Trainer::resume(run, {});
        ASSERT_EQ(trainer.state().step, step);
        ASSERT_EQ(trainer.run(quiet, never), Trainer::Outcome::finished);
      }
      ASSERT_TRUE(end_of(run) == expected) << "stopped at step " << step << ", resumed on " << threads;
      ASSERT_EQ(timeless_metrics(run), expected_metrics) << "stopped at step " << step << ", resumed on " << threads;
      std::filesystem::remove_all(run);
    }
    stop_at(Trainer::resume(stopped, {}), step + 1);
  }
  Trainer::resume(stopped, {}).run(quiet, never);  // the last evaluation
  EXPECT_TRUE(end_of(stopped) == expected);
  set_thread_count(threads_before);
}

INSTANTIATE_TEST_SUITE_P(Models, ResumeAtEveryStep, ::testing::Values("gpt", "encoder_decoder"));

}  // namespace
}  // namespace dikkat
