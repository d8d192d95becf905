#include "train/run/background_saver.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "optim/adamw.h"
#include "tests/train/run/tiny_run.h"
#include "train/run/training_snapshot.h"

namespace dikkat {
namespace {

struct Saving : ::testing::Test {
  Saving() : model({.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 8}, 11) {
    model.parameters().allocate(3);
    optimizer.emplace(model.parameters(), AdamW::Options{});
    optimizer->reserve();
    std::filesystem::create_directories(folder / "now");
    std::filesystem::create_directories(folder / "later");
  }
  Snapshot snapshot(index step) {
    TrainingState state;
    state.step = step;
    return training_snapshot(state, "", R"({"kind":"byte"})", model.parameters(), *optimizer);
  }
  void change_weights() {
    for (ParameterStore::Entry* entry : model.parameters().entries()) {
      std::fill_n(static_cast<float*>(entry->record.data), entry->size(), -7.0F);
    }
  }

  TemporaryFolder folder;
  LanguageModel model;
  std::optional<AdamW> optimizer;
};

TEST_F(Saving, saves_the_weights_of_the_time_when_it_began) {
  const SavedCheckpoint now = save_checkpoint(folder / "now", snapshot(5));
  BackgroundSaver saver(folder / "later");
  EXPECT_FALSE(saver.collect(true)) << "no save is running";
  saver.start(snapshot(5));
  EXPECT_TRUE(saver.is_running());
  change_weights();
  const auto later = saver.collect(true);
  ASSERT_TRUE(later);
  EXPECT_FALSE(saver.is_running());
  EXPECT_EQ(later->step(), 5);
  EXPECT_TRUE(contents(later->path()) == contents(now.path()));
  EXPECT_FALSE(saver.collect(true)) << "it is reported once";
}

TEST_F(Saving, one_at_a_time_and_again) {
  BackgroundSaver saver(folder / "later");
  saver.start(snapshot(1));
  EXPECT_THROW(saver.start(snapshot(2)), Error);
  EXPECT_EQ(saver.collect(true)->step(), 1);
  saver.start(snapshot(2));
  EXPECT_EQ(saver.collect(true)->step(), 2);
}

TEST_F(Saving, reports_without_waiting_when_it_is_done) {
  BackgroundSaver saver(folder / "later");
  saver.start(snapshot(1));
  std::optional<SavedCheckpoint> saved;
  for (int i = 0; i < 10000 && !saved; ++i) {
    saved = saver.collect(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(saved) << "a worker took it, though nobody waited";
}

TEST_F(Saving, a_failure_is_reported_when_it_is_collected) {
  BackgroundSaver saver(folder / "nowhere");
  saver.start(snapshot(1));
  EXPECT_THROW(saver.collect(true), Error);
  EXPECT_FALSE(saver.is_running());
  EXPECT_FALSE(saver.collect(true)) << "once";
}

TEST_F(Saving, the_end_waits_for_a_save_that_is_running) {
  {
    BackgroundSaver(folder / "later").start(snapshot(9));
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "later" / "step-000000009.h5"));
}

TEST(AsyncSave, ChangesNoBitOfARun) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  struct FirstSave : TrainingEvents {
    void stepped(const StepReport&) override { ++steps; }
    void saved(const SavedCheckpoint&) override { steps_before = std::min(steps_before, steps); }
    index steps = 0;
    index steps_before = 1000;
  };
  for (const bool async : {false, true}) {
    Config config = tiny_config(folder / "corpus.txt");
    config.train.async_save = async;
    FirstSave events;
    Trainer::start(config, folder / (async ? "async" : "plain")).run(events, never);
    EXPECT_EQ(events.steps_before > 0, async) << "it is reported after a step that did not wait for it";
  }
  EXPECT_EQ(timeless_metrics(folder / "async"), timeless_metrics(folder / "plain"));
  const auto names = [&](const char* run) {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder / run / "checkpoints")) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(names("async"), names("plain")) << "the same ones are kept";
}

}  // namespace
}  // namespace dikkat
