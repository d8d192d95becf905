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
    runs.push_back({std::vector<Tensor>(run.inputs.begin(), run.inputs.end()), run.outputs[0], run.cost, run.region});
  }
  struct Run {
    std::vector<Tensor> inputs;
    Tensor output;
    OpCost cost;
    Region region;
  };
  std::vector<std::string> calls;
  std::vector<Run> runs;
};

TEST(Observer, HearsOpsForwardAndThenBackward) {
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

/// x, by an op that reports its cost.
Tensor priced(Tensor x, const OpCost& cost) {
  Tape& tape = *x.tape();
  tape.begin("priced");
  const Tensor y = tape.view(x, x.shape());
  tape.record({x}, {y}, cost, [=](Gradients& g) { g.pass(y, x); });
  return y;
}

TEST(Observer, HearsTheCostThatAnOpReportsOrNone) {
  Recorder recorder;
  Tape tape;
  tape.observe(&recorder);
  EXPECT_TRUE(tape.observed());
  const std::vector<double> values = {1};
  const Tensor x = tape.input<double>({1}, values, true);
  tape.backward(times(priced(x, {{12, 34}, {56, 78}}), 2));
  ASSERT_EQ(recorder.runs.size(), 4U);
  for (const std::size_t of_priced : {0U, 3U}) {
    const OpCost& cost = recorder.runs[of_priced].cost;
    EXPECT_EQ((std::vector<double>{cost.forward.flops, cost.forward.bytes, cost.backward.flops, cost.backward.bytes}),
              (std::vector<double>{12, 34, 56, 78}));
  }
  for (const std::size_t of_times : {1U, 2U}) {
    EXPECT_EQ(recorder.runs[of_times].cost.forward.bytes + recorder.runs[of_times].cost.backward.bytes, 0) << "it reports none";
  }
}

TEST(Observer, HearsThePartOfTheModelInBackwardToo) {
  Recorder recorder;
  Tape tape;
  tape.observe(&recorder);
  const std::vector<double> values = {1};
  const auto step = [&] {
    recorder.runs.clear();
    const Tensor x = times(tape.input<double>({1}, values, true), 3);
    tape.enter(Region::blocks);
    const Tensor y = times(x, 3);
    tape.enter(Region::head);
    tape.backward(times(y, 2));
    tape.reset();
    std::vector<Region> regions;
    for (const auto& run : recorder.runs) {
      regions.push_back(run.region);
    }
    return regions;
  };
  const std::vector<Region> expected = {Region::none, Region::blocks, Region::head, Region::head, Region::blocks, Region::none};
  EXPECT_EQ(step(), expected);
  EXPECT_EQ(step(), expected) << "after reset() no part is entered";
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
