#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tape/own_ops.h"

namespace dikkat {
namespace {

using testing::plus;
using testing::squared;
using testing::times;
using testing::total;

struct Recorder : TapeObserver {
  void forward_begins() override { calls.emplace_back("("); }
  void forward_ends(const OpRun& run) override { note(run); }
  void backward_begins() override { calls.emplace_back("<"); }
  void backward_ends(const OpRun& run) override { note(run); }
  void note(const OpRun& run) {
    calls.emplace_back(run.op);
    runs.push_back({std::vector<Tensor>(run.inputs.begin(), run.inputs.end()), run.outputs[0], run.pairs});
  }
  struct Run {
    std::vector<Tensor> inputs;
    Tensor output;
    double pairs;
  };
  std::vector<std::string> calls;
  std::vector<Run> runs;
};

TEST(Observer, IsToldOfOpsForwardAndThenBackward) {
  Recorder recorder;
  Tape tape;
  tape.observe(&recorder);
  const std::vector<double> values = {1, 2, 3};
  const Tensor x = tape.input<double>({3}, values, true);
  const Tensor y = times(x, 3);
  squared(y);  // nothing flows into it
  const Tensor sum = plus(x, y);
  const Tensor loss = total(sum);
  tape.backward(loss);
  EXPECT_EQ(recorder.calls,
            (std::vector<std::string>{"(", "times", "(", "squared", "(", "plus", "(", "total", "<", "total", "<", "plus", "<", "times"}));
  ASSERT_EQ(recorder.runs.size(), 7U);
  for (const std::size_t plus_run : {2U, 5U}) {
    EXPECT_EQ(recorder.runs[plus_run].inputs, (std::vector<Tensor>{x, y}));
    EXPECT_EQ(recorder.runs[plus_run].output, sum);
  }
}

TEST(Observer, HearsOfPairsFromTheOpThatTellsThem) {
  Recorder recorder;
  Tape tape;
  tape.observe(&recorder);
  EXPECT_TRUE(tape.observed());
  const std::vector<double> values = {1};
  const Tensor x = tape.input<double>({1}, values, true);
  tape.tell_pairs(12);
  const Tensor y = times(x, 3);
  tape.backward(times(y, 2));
  std::vector<double> pairs;
  for (const auto& run : recorder.runs) {
    pairs.push_back(run.pairs);
  }
  EXPECT_EQ(pairs, (std::vector<double>{12, 0, 0, 12}));
}

TEST(Observer, HearsNoMoreOnceItIsTakenAway) {
  Recorder recorder;
  Tape tape(Recording::off);
  tape.observe(&recorder);
  const std::vector<double> values = {1};
  const Tensor x = tape.input<double>({1}, values);
  times(x, 3);
  EXPECT_EQ(recorder.calls, (std::vector<std::string>{"(", "times"})) << "without recording too";
  tape.observe(nullptr);
  EXPECT_FALSE(tape.observed());
  times(x, 3);
  EXPECT_EQ(recorder.calls.size(), 2U);
}

}  // namespace
}  // namespace dikkat
