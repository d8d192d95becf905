#include "train/run/prompt_sampler.h"

#include <gtest/gtest.h>

#include "tests/train/run/tiny_run.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/metrics/run_history.h"

namespace dikkat {
namespace {

class PromptSamplerTest : public ::testing::Test {
 protected:
  PromptSamplerTest() { write_file(folder_ / "corpus.txt", tiny_text()); }

  Config config(std::vector<std::string> prompts) const {
    Config c = tiny_config(folder_ / "corpus.txt");
    c.train.sample_prompts = std::move(prompts);
    c.train.sample_tokens = 12;
    return c;
  }
  RunHistory train(const std::string& name, const Config& c) const {
    TrainingEvents nobody;
    Trainer::start(c, folder_ / name).run(nobody, never);
    return read_history(folder_ / name);
  }

  TemporaryFolder folder_;
};

TEST_F(PromptSamplerTest, each_evaluation_continues_each_prompt) {
  const RunHistory history = train("run", config({"the ", "ships"}));
  ASSERT_EQ(history.samples.size(), 2 * history.evaluations.size());
  EXPECT_EQ(history.samples[0].step, 6);
  EXPECT_EQ(history.samples[0].prompt, "the ");
  EXPECT_EQ(history.samples[1].prompt, "ships");
  EXPECT_EQ(history.samples[0].text.size(), 12U) << "characters";
  EXPECT_NE(history.samples[0].text, history.samples[2].text) << "of another step";
  const RunHistory again = train("again", config({"the ", "ships"}));
  for (std::size_t i = 0; i < history.samples.size(); ++i) {
    EXPECT_EQ(again.samples[i].text, history.samples[i].text) << "only seed and step decide";
  }
}

TEST_F(PromptSamplerTest, a_run_has_the_same_bits_with_and_without) {
  train("with", config({"the "}));
  const RunHistory without = train("without", config({}));
  EXPECT_TRUE(without.samples.empty());
  EXPECT_EQ(timeless_metrics(folder_ / "with"), timeless_metrics(folder_ / "without"));
}

/// All lines of the metrics that a resumed run has too: without times, resumes and their counterparts.
std::vector<std::string> events_of(const std::filesystem::path& run) {
  std::vector<std::string> lines;
  std::istringstream text(contents(run / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    for (const char* event : {"step", "eval", "sample", "save"}) {
      if (line.starts_with(R"({"event":")" + std::string(event) + '"')) {
        lines.push_back(line.substr(0, std::min(line.find(",\"ms\":"), line.find(",\"time\":"))));
      }
    }
  }
  return lines;
}

// An evaluation and its samples are one event of several lines. Whichever of them a run has written when it is killed, a resumed run ends
// with the same lines.
TEST_F(PromptSamplerTest, a_run_that_ends_between_the_lines_of_an_evaluation_loses_none) {
  Config c = config({"the ", "ships"});
  c.train.keep_last = 100;
  c.train.async_save = false;  // so that the lines have the same order in every run
  train("whole", c);
  const std::string all = contents(folder_ / "whole" / "metrics.jsonl");
  int cuts = 0;
  for (const index step : {6, 12, 20}) {
    std::size_t end = all.find(concat(R"({"event":"step","step":)", step, ','));
    const std::size_t next = std::min(all.find(concat(R"({"event":"step","step":)", step + 1, ',')), all.find(R"({"event":"finish")"));
    for (end = all.find('\n', end) + 1; end <= next; end = all.find('\n', end) + 1, ++cuts) {
      const auto run = folder_ / concat("cut-", step, '-', end);
      std::filesystem::copy(folder_ / "whole", run, std::filesystem::copy_options::recursive);
      write_file(run / "metrics.jsonl", all.substr(0, end));
      for (const CheckpointEntry& entry : list_checkpoints(run)) {
        if (entry.step > step) {
          std::filesystem::remove(entry.path);
        }
      }
      TrainingEvents nobody;
      Trainer::resume(run, {}).run(nobody, never);
      EXPECT_EQ(events_of(run), events_of(folder_ / "whole")) << "step " << step << ", cut at byte " << end;
    }
  }
  EXPECT_EQ(cuts, 3 * 5) << "after the step, its save, two samples and the evaluation";
}

TEST_F(PromptSamplerTest, a_stop_while_it_samples_leaves_the_evaluation_for_later) {
  const Config c = config({"the ", "ships"});
  train("whole", c);
  TrainingEvents nobody;
  int asked = 0, stopped = 0;
  for (int at = 1; at < 100; at += 4) {  // stop() is asked in steps, evaluations and between the tokens of samples
    const auto run = folder_ / concat("stopped-", at);
    asked = 0;
    {
      Trainer trainer = Trainer::start(c, run);
      stopped += trainer.run(nobody, [&] { return ++asked >= at; }) == Trainer::Outcome::stopped ? 1 : 0;
    }
    Trainer::resume(run, {}).run(nobody, never);
    const auto without_saves = [&](const std::filesystem::path& folder) {
      std::vector<std::string> lines = events_of(folder);
      std::erase_if(lines, [](const std::string& line) { return line.starts_with(R"({"event":"save")"); });
      return lines;
    };
    ASSERT_EQ(without_saves(run), without_saves(folder_ / "whole")) << "stopped when it asked for the time number " << at;
    std::filesystem::remove_all(run);
  }
  EXPECT_GT(stopped, 10);
}

TEST_F(PromptSamplerTest, prompts_that_cannot_be_continued_are_refused_before_the_run_begins) {
  const auto refusal = [&](const Config& c) { return input_error_of([&] { Trainer::start(c, folder_ / "refused"); }); };
  EXPECT_TRUE(testing::names(refusal(config({"the ", "Zebra"})), {"train.sample_prompts", "2", "byte 0"}));
  EXPECT_TRUE(testing::names(refusal(config({""})), {"train.sample_prompts", "empty"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

TEST_F(PromptSamplerTest, its_memory_is_planned) {
  Config c = config({"the "});
  const std::size_t one = Trainer::plan(c).memory_plan().sampling;
  const std::size_t keys = std::size_t{2} * 2 * 24 * 16 * sizeof(float);  // k and v, layers, block, width
  EXPECT_GT(one, keys);
  EXPECT_LT(one, 2 * keys) << "and logits of a small vocabulary";
  c.train.sample_prompts = {"the ", "ships"};
  EXPECT_EQ(Trainer::plan(c).memory_plan().sampling, 2 * one);
  c.train.sample_prompts.clear();
  EXPECT_EQ(Trainer::plan(c).memory_plan().sampling, 0U);
}

}  // namespace
}  // namespace dikkat
