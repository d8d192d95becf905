#include "train/run/run_record.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

Snapshot no_snapshot() { fail("a closed record needs no snapshot"); }

TEST(RunRecord, WritesNothingWhileItIsClosed) {
  const Config config;
  TrainingState state;
  state.step = 3;
  Ranks ranks;
  RunRecord record(config, state, ranks, no_snapshot);
  TrainingEvents events;
  record.begin(events, {}, {});
  EXPECT_EQ(record.saved_step(), -1);
  record.save(events, RunRecord::IfFailed::end);
  EXPECT_EQ(record.saved_step(), 3) << "the first rank saves for all";
  record.collect_save(events);
  record.await_save(events);
  record.log(events, StepReport{});
  EXPECT_EQ(record.last_good(), "There is no checkpoint");
  EXPECT_NE(record.advice().find("dikkat resume"), std::string::npos) << "it knows no file";
  EXPECT_FALSE(record.is_open());
  record.discard();
}

TEST(RunRecord, KeepsTheBestEvaluationOfASavedStep) {
  const Config config;
  TrainingState state;
  Ranks ranks;
  RunRecord record(config, state, ranks, no_snapshot);
  TrainingEvents events;
  state.step = 5;
  state.evaluation_pending = true;
  EXPECT_FALSE(record.record_evaluation({.step = 5, .val_loss = 2})) << "step 5 is not saved";
  EXPECT_FALSE(state.evaluation_pending);
  record.save(events, RunRecord::IfFailed::end);
  EXPECT_TRUE(record.record_evaluation({.step = 5, .val_loss = 2}));
  EXPECT_FALSE(record.record_evaluation({.step = 5, .val_loss = 3}));
  EXPECT_EQ(state.best_step, 5);
  EXPECT_EQ(state.best_val_loss, 2);
}

TEST(RunRecord, ReportsAFailureOrThrowsAsConfigured) {
  struct Failures : TrainingEvents {
    void write_failed(const std::string& what) override { last = what; }
    std::string last;
  } events;
  Config config;
  config.train.on_failed_save = OnFailedSave::continue_;
  TrainingState state;
  Ranks ranks;
  RunRecord record(config, state, ranks, no_snapshot);
  const auto fails = [] { fail("the disk is full"); };
  record.attempt(events, RunRecord::IfFailed::as_configured, fails);
  EXPECT_EQ(events.last, "the disk is full");
  EXPECT_EQ(testing::error_of([&] { record.attempt(events, RunRecord::IfFailed::end, fails); }), "the disk is full");
  config.train.on_failed_save = OnFailedSave::stop;
  EXPECT_EQ(testing::error_of([&] { record.attempt(events, RunRecord::IfFailed::as_configured, fails); }), "the disk is full");
}

}  // namespace
}  // namespace dikkat
