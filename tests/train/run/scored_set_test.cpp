#include "train/run/scored_set.h"

#include <gtest/gtest.h>

#include "tests/train/run/tiny_run.h"
#include "train/metrics/run_history.h"

namespace dikkat {
namespace {

class ScoredSetTest : public ::testing::Test {
 protected:
  ScoredSetTest() { write_file(folder_ / "corpus.txt", tiny_text()); }

  Config config(std::vector<std::string> settings = {}) const {
    Config c = tiny_config(folder_ / "corpus.txt");
    for (const std::string& setting : settings) {
      apply_override(c, setting);
    }
    resolve(c);
    return c;
  }
  ScoredSet of(const Config& c) const { return Trainer::plan(c).scored(); }

  TemporaryFolder folder_;
};

TEST_F(ScoredSetTest, isTheSameForEqualTextsAndOtherwiseNot) {
  const ScoredSet set = of(config());
  EXPECT_TRUE(set.is_known());
  EXPECT_FALSE(set.text.empty());
  EXPECT_EQ(of(config({"model.n_layer=1", "optim.learning_rate=0.5", "train.seed=9", "train.eval_tokens=100"})), set)
      << "what a run is, and how much it looks at";
  EXPECT_NE(of(config({"data.val_fraction=0.2"})).targets, set.targets);

  std::string text = tiny_text();
  text.back() = 'a';  // it ends with a line feed
  write_file(folder_ / "corpus.txt", text);
  EXPECT_NE(of(config()).targets, set.targets);
}

TEST_F(ScoredSetTest, tellsTargetsFromContexts) {
  const ScoredSet set = of(config());
  const ScoredSet longer = of(config({"model.block_size=40"}));
  EXPECT_EQ(longer.targets, set.targets) << "each token after the first is predicted once";
  EXPECT_EQ(longer.text, set.text);
  EXPECT_NE(longer.contexts, set.contexts);
}

TEST_F(ScoredSetTest, ofAnotherTokenizerHasTheSameTextOnly) {
  const ScoredSet characters = of(config());
  const ScoredSet pieces = of(config({"tokenizer.kind=bpe", "tokenizer.vocab_size=280"}));
  EXPECT_NE(pieces.targets, characters.targets);
  EXPECT_EQ(pieces.text, characters.text);
}

TEST_F(ScoredSetTest, isInTheMetricsAndTheSameInAllEvaluations) {
  TrainingEvents nobody;
  Trainer trainer = Trainer::start(config(), folder_ / "run");
  trainer.run(nobody, never);
  const RunHistory history = read_history(folder_ / "run");
  ASSERT_EQ(history.evaluations.size(), 4U);
  for (const auto& evaluation : history.evaluations) {
    EXPECT_EQ(evaluation.report.scored, trainer.scored());
  }
}

TEST_F(ScoredSetTest, ofPairsHasTheSources) {
  write_file(folder_ / "pairs.tsv", "a b\tc\nd\te f\n");
  write_file(folder_ / "others.tsv", "a d\tc\nb\te f\n");
  Config c = tiny_pairs_config(folder_ / "pairs.tsv");
  TrainingData data = load_training_data([&] {
    Config whole = c;
    whole.data.val_fraction = 0;
    return whole;
  }());
  const ScoredSet set = scored_set_of(load_evaluation_text(c, *data.tokenizer, {folder_ / "pairs.tsv"}), *data.tokenizer);
  const ScoredSet others = scored_set_of(load_evaluation_text(c, *data.tokenizer, {folder_ / "others.tsv"}), *data.tokenizer);
  EXPECT_EQ(others.targets, set.targets);
  EXPECT_NE(others.contexts, set.contexts);
}

TEST(CombinedSets, dependOnTheSharesAndAreUnknownIfOneIs) {
  const ScoredSet a{.targets = "a", .contexts = "b", .text = "c"}, b{.targets = "d", .contexts = "e"};
  const auto mean = [&](double share) { return combined(std::vector<SharedSet>{{.of = a, .share = share}, {.of = b, .share = 1}}); };
  EXPECT_EQ(combined(std::vector<SharedSet>{{.of = a, .share = 0.5}}), a);
  EXPECT_NE(mean(1).targets, mean(2).targets);
  EXPECT_EQ(mean(1).text, "") << "that of one is not known";
  EXPECT_FALSE(combined(std::vector<SharedSet>{{.of = a}, {.of = {}}}).is_known());
  EXPECT_FALSE(combined({}).is_known());
}

}  // namespace
}  // namespace dikkat
