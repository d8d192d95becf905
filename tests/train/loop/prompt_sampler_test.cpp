#include "train/loop/prompt_sampler.h"

#include <gtest/gtest.h>

#include "tests/train/loop/tiny_run.h"
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
    EXPECT_EQ(again.samples[i].text, history.samples[i].text) << "nothing else than seed and step decides";
  }
}

TEST_F(PromptSamplerTest, a_run_has_the_same_bits_with_and_without) {
  train("with", config({"the "}));
  const RunHistory without = train("without", config({}));
  EXPECT_TRUE(without.samples.empty());
  EXPECT_EQ(timeless_metrics(folder_ / "with"), timeless_metrics(folder_ / "without"));
}

TEST_F(PromptSamplerTest, what_cannot_be_continued_is_refused_before_the_run_begins) {
  const auto message = [&](const Config& c) -> std::string {
    try {
      Trainer::start(c, folder_ / "refused");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_TRUE(message(config({"the ", "Zebra"})).starts_with("train.sample_prompts, number 2: prompt: byte 0: ")) << message(config({"the ", "Zebra"}));
  EXPECT_EQ(message(config({""})), "train.sample_prompts holds an empty string, expected a text in each place");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

TEST_F(PromptSamplerTest, its_memory_is_planned) {
  Config c = config({"the "});
  EXPECT_EQ(Trainer::plan(c).memory_plan().sampling, 2U * 2 * 2 * 24 * 16 * sizeof(float)) << "two sequences, k and v, layers, block, width";
  c.train.sample_prompts.clear();
  EXPECT_EQ(Trainer::plan(c).memory_plan().sampling, 0U);
}

}  // namespace
}  // namespace dikkat
