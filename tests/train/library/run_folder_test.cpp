// The folder of a run of a program's own loop: a run that was stopped and started again is the run that was not.
#include "train/library/run_folder.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "layers/linear.h"
#include "optim/adamw.h"
#include "tests/support/numbers.h"
#include "tests/train/run/tiny_run.h"
#include "train/library/array_loader.h"
#include "train/metrics/run_history.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;

constexpr index kStepsOfLoop = 20;

struct Stopped {};

/// Trains y = W x on a small table, and stops where `stop` is reached, as if it had been killed there.
struct Loop {
  ParameterStore parameters;
  Linear net{Scope(parameters), 3, 1, true, 0.1};
  std::optional<AdamW> adamw;
  ArrayLoader loader{{Array(Shape{25, 3}, numbers(75, 1)), Array(Shape{25, 1}, numbers(25, 2))}, {.batch_size = 4, .seed = 6}};

  Loop() {
    parameters.allocate(2);
    adamw.emplace(parameters, AdamW::Options{});
  }

  static double val_loss(index step) { return step == 12 ? 0.5 : 1 + 1 / static_cast<double>(step); }

  /// Returns the step from which it has continued.
  index run(const std::filesystem::path& path, index stop, const RunFolder::Options& options = {.keep_last = 2}) {
    RunFolder folder(path, options);
    ArrayLoader::State state{};
    const index first = folder.resume(parameters, *adamw, {{"loader", state}});
    if (first > 0) {
      loader.restore(state);
    }
    Tape tape;
    for (index step = first; step < kStepsOfLoop;) {
      if (step == stop) {
        throw Stopped();
      }
      const ArrayLoader::Batch batch = loader.next();
      Pass pass{.tape = tape};
      const Tensor miss = add(net(pass, batch.tensor(tape, 0)), scale(batch.tensor(tape, 1), -1));
      const Tensor loss = mean(multiply(miss, miss));
      tape.backward(loss);
      ++step;
      folder.log_step({.step = step, .loss = static_cast<double>(*loss.data<float>()), .learning_rate = 0.01, .tokens = batch.size()});
      tape.reset();
      adamw->step(step, 0.01);
      if (step % 4 == 0) {
        folder.save(parameters, *adamw, step, {{"loader", loader.state()}});
        folder.log_evaluation({.step = step, .val_loss = val_loss(step), .measures = {{"accuracy", 0.25}}});
      }
    }
    folder.finish();
    return first;
  }
};

std::set<std::string> names_in(const std::filesystem::path& path) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    found.insert(entry.path().filename().string());
  }
  return found;
}

TEST(RunFolder, StartedAgainIsTheRunThatWasNotStopped) {
  const TemporaryFolder folder;
  Loop().run(folder / "whole", -1);
  const std::string last = "checkpoints/step-000000020.h5";
  for (const index stop : {0, 3, 4, 7, 13, 19}) {
    const std::filesystem::path path = folder / concat("stopped-", stop);
    EXPECT_THROW(Loop().run(path, stop), Stopped);
    EXPECT_EQ(Loop().run(path, -1), stop / 4 * 4);
    EXPECT_EQ(timeless_metrics(path), timeless_metrics(folder / "whole")) << stop;
    EXPECT_TRUE(contents(path / last) == contents(folder / "whole" / last)) << stop;
    EXPECT_EQ(names_in(path / "checkpoints"), names_in(folder / "whole/checkpoints"));
  }
  EXPECT_EQ(names_in(folder / "whole"), (std::set<std::string>{".lock", "checkpoints", "metrics.jsonl"}));
  EXPECT_EQ(Loop().run(folder / "whole", -1), kStepsOfLoop);  // all is done
}

TEST(RunFolder, KeepsTheLastCheckpointsAndTheBest) {
  const TemporaryFolder folder;
  Loop().run(folder / "run", -1);
  EXPECT_EQ(names_in(folder / "run/checkpoints"),
            (std::set<std::string>{"best", "step-000000012.h5", "step-000000016.h5", "step-000000020.h5"}));
  EXPECT_EQ(contents(folder / "run/checkpoints/best"), "step-000000012.h5\n");
  EXPECT_EQ(RunFolder(folder / "run").best().filename(), "step-000000012.h5");
  // A later start knows the loss of the best one.
  EXPECT_THROW(Loop().run(folder / "stopped", 18), Stopped);
  Loop().run(folder / "stopped", -1);
  EXPECT_EQ(contents(folder / "stopped/checkpoints/best"), "step-000000012.h5\n");
}

TEST(RunFolder, WritesWhatReportsRead) {
  const TemporaryFolder folder;
  EXPECT_THROW(Loop().run(folder / "run", 9, {.settings = {{"rate", "0.01"}, {"width", "3"}}}), Stopped);
  Loop().run(folder / "run", -1, {.settings = {{"rate", "0.02"}, {"depth", "1"}}});
  const RunHistory history = read_history(folder / "run");
  ASSERT_TRUE(history.header);
  EXPECT_TRUE(is_of_own_loop(history));
  EXPECT_EQ(history.header->parameters, 4);
  EXPECT_EQ(history.header->settings, (Settings{{"rate", "0.01"}, {"width", "3"}}));
  EXPECT_TRUE(history.finished());
  EXPECT_EQ(history.steps.size(), 20U);
  EXPECT_EQ(history.steps.back().report.tokens, 4);
  EXPECT_GT(history.steps.back().report.seconds, 0);
  EXPECT_TRUE(std::isnan(history.steps.back().report.gradient_norm));
  ASSERT_EQ(history.evaluations.size(), 5U);
  EXPECT_EQ(history.evaluations[2].report.val_loss, 0.5);
  EXPECT_EQ(history.evaluations[2].report.losses.at(0).name, "accuracy");
  EXPECT_EQ(history.saves.size(), 5U);
  std::vector<std::string> changes;
  for (const RunHistory::Event& event : history.events) {
    changes.push_back(event.kind == "change" ? concat("change ", event.key, ' ', event.before, ' ', event.after) : event.kind);
  }
  EXPECT_EQ(changes, (std::vector<std::string>{"resume", "change rate 0.01 0.02", "change width 3 ", "change depth  1", "finish"}));
}

TEST(RunFolder, RefusesWhatItCannotUse) {
  const TemporaryFolder folder;
  folder.write("full/notes.txt", "x");
  EXPECT_TRUE(names(error_of<InputError>([&] { RunFolder run(folder / "full"); }), {"full", "notes.txt"}));
  folder.write("trained/config.toml", "");
  std::filesystem::create_directories(folder / "trained/checkpoints");
  EXPECT_TRUE(names(error_of<InputError>([&] { RunFolder run(folder / "trained"); }), {"trained", "config.toml"}));
  RunFolder run(folder / "run");
  EXPECT_TRUE(names(error_of<InputError>([&] { RunFolder second(folder / "run"); }), {"run"})) << "it is in use";
  Loop program;
  EXPECT_TRUE(names(error_of([&] { run.log_step({.step = 1, .loss = 1}); }), {"run", "resume()"}));
  EXPECT_TRUE(names(error_of([&] { run.save(program.parameters, *program.adamw, 1); }), {"run", "resume()"}));
  EXPECT_EQ(run.resume(program.parameters, *program.adamw), 0);
  EXPECT_TRUE(names(error_of([&] { run.resume(program.parameters, *program.adamw); }), {"resume()"}));
  EXPECT_TRUE(names(error_of([&] { RunFolder none(folder / "none", {.keep_last = 0}); }), {"keep_last", "0"}));
  // A checkpoint of another program.
  EXPECT_THROW(Loop().run(folder / "stopped", 5), Stopped);
  RunFolder stopped(folder / "stopped");
  EXPECT_TRUE(names(error_of<InputError>([&] { stopped.resume(program.parameters, *program.adamw); }), {"arrays/loader i64 [4]"}));
}

}  // namespace
}  // namespace dikkat
