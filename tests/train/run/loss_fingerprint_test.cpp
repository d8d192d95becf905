#include "train/run/loss_fingerprint.h"

#include <gtest/gtest.h>

#include "tests/train/run/tiny_run.h"
#include "train/config/override.h"
#include "train/config/resolve.h"
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
  LossFingerprint of(const Config& c) const { return Trainer::plan(c).scored(); }

  TemporaryFolder folder_;
};

TEST_F(ScoredSetTest, isTheSameForEqualTextsAndOtherwiseNot) {
  const LossFingerprint set = of(config());
  EXPECT_TRUE(set.is_known());
  EXPECT_FALSE(set.text.empty());
  EXPECT_EQ(of(config({"model.n_layer=1", "optim.learning_rate=0.5", "train.seed=9", "train.eval_tokens=100"})), set)
      << "these keys do not change the scored tokens";
  EXPECT_NE(of(config({"data.val_fraction=0.2"})).targets, set.targets);

  std::string text = tiny_text();
  text.back() = 'a';  // it ends with a line feed
  write_file(folder_ / "corpus.txt", text);
  EXPECT_NE(of(config()).targets, set.targets);
  EXPECT_NE(of(config()).contexts, set.contexts) << "contexts include their targets";
  EXPECT_NE(of(config()).text, set.text);
}

TEST_F(ScoredSetTest, ofAnotherVocabularyIsAnotherEvenIfTheIdsAreEqual) {
  const LossFingerprint set = of(config());
  std::string text = tiny_text();
  ASSERT_EQ(text.find('k'), std::string::npos);
  std::ranges::replace(text, 'l', 'k');  // between i and m, as l is
  write_file(folder_ / "corpus.txt", text);
  EXPECT_NE(of(config()).targets, set.targets);
}

TEST_F(ScoredSetTest, ofAnswersHasTheQuestionsAndNotTheWindows) {
  TrainingEvents nobody;  // conversations need a tokenizer that has a token for the end of a text
  Trainer::start(config({"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "train.max_steps=1", "optim.warmup_steps=0"}), folder_ / "base")
      .run(nobody, never);
  const auto of_chats = [&](const std::vector<std::string>& messages, int window = 150) {  // those of a user, and answers
    std::string lines;
    for (int example = 0; example < 20; ++example) {
      for (std::size_t i = 0; i < messages.size(); ++i) {
        lines += concat(i == 0 ? R"({"messages": [)" : ", ", R"({"role": ")", i % 2 == 0 ? "user" : "assistant", R"(", "content": )",
                        messages[i], '}');
      }
      lines += "]}\n";
    }
    write_file(folder_ / "chats.jsonl", lines);
    Config c = tiny_config(folder_ / "chats.jsonl");
    c.tokenizer.path = folder_ / "base";
    c.data.val_fraction = 0.5;
    c.model.block_size = window;
    resolve(c);
    return of(c);
  };
  // The set depends on the questions and on the places of answers, and not on the window.
  const std::string answer = R"("cd")", untrained = R"("cd", "train": false)";
  const LossFingerprint set = of_chats({R"("ab")", answer, R"("ba")", answer});
  EXPECT_TRUE(set.is_known());
  EXPECT_EQ(of_chats({R"("ab")", answer, R"("ba")", answer}, 400), set) << "if no example is cut, the number in a window does not matter";
  EXPECT_EQ(of_chats({R"("ab")", answer, R"("ba")", answer, R"("abba")"}), set) << "nothing is predicted from the last message";
  const LossFingerprint other = of_chats({R"("ab")", answer, R"("bb")", answer});
  EXPECT_EQ(other.targets, set.targets);
  EXPECT_NE(other.contexts, set.contexts);
  const LossFingerprint first = of_chats({R"("ab")", answer, R"("ba")", untrained, R"("ab")", answer});
  const LossFingerprint second = of_chats({R"("ab")", untrained, R"("ba")", answer, R"("ab")", answer});
  EXPECT_EQ(first.targets, second.targets);
  EXPECT_NE(first.contexts, second.contexts) << "the same tokens at other places";
}

TEST_F(ScoredSetTest, hasATextIfTokensStandForAllOfIt) { EXPECT_EQ(of(config({"tokenizer.kind=word"})).text, ""); }

TEST_F(ScoredSetTest, distinguishesTargetsFromContexts) {
  const LossFingerprint set = of(config());
  const LossFingerprint longer = of(config({"model.block_size=40"}));
  EXPECT_EQ(longer.targets, set.targets) << "each token after the first is predicted once";
  EXPECT_EQ(longer.text, set.text);
  EXPECT_NE(longer.contexts, set.contexts);
}

TEST_F(ScoredSetTest, ofAnotherTokenizerHasTheSameTextOnly) {
  const LossFingerprint characters = of(config());
  const LossFingerprint pieces = of(config({"tokenizer.kind=bpe", "tokenizer.vocab_size=280"}));
  EXPECT_NE(pieces.targets, characters.targets);
  EXPECT_EQ(pieces.text, characters.text);
}

TEST_F(ScoredSetTest, hasATextWithoutTheSeparatorsOfDocuments) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += concat(R"({"text": "the lamp turns and )", i, R"( ships go by at night"})", '\n');
  }
  write_file(folder_ / "documents.jsonl", lines);
  const auto of_documents = [&](const std::string& tokenizer) {
    const std::string corpus = concat("data.corpus=[\"", (folder_ / "documents.jsonl").string(), "\"]");
    return of(config({corpus, "tokenizer.kind=" + tokenizer, tokenizer == "bpe" ? "tokenizer.vocab_size=280" : "train.seed=1"}));
  };
  EXPECT_EQ(of_documents("bpe").text, of_documents("char").text) << "characters have none between documents";
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
  ResolvedConfig whole(c);
  whole.change([](Config& w) { w.data.val_fraction = 0; });
  const TrainingData data = load_training_data(whole);
  const LossFingerprint set =
      loss_fingerprint_of(*load_evaluation_text(whole, *data.tokenizer, {folder_ / "pairs.tsv"}).data, *data.tokenizer);
  const LossFingerprint others =
      loss_fingerprint_of(*load_evaluation_text(whole, *data.tokenizer, {folder_ / "others.tsv"}).data, *data.tokenizer);
  EXPECT_EQ(others.targets, set.targets);
  EXPECT_NE(others.contexts, set.contexts);
}

TEST(CombinedSets, dependOnTheSharesAndAreUnknownIfOneIs) {
  const LossFingerprint a{.targets = "a", .contexts = "b", .text = "c"}, b{.targets = "d", .contexts = "e"};
  const auto mean = [&](double share) {
    return combined(std::vector<SharedFingerprint>{{.of = a, .share = share}, {.of = b, .share = 1}});
  };
  EXPECT_EQ(combined(std::vector<SharedFingerprint>{{.of = a, .share = 0.5}}), a);
  EXPECT_NE(mean(1).targets, mean(2).targets);
  EXPECT_EQ(mean(1).text, "") << "one of them is not known";
  EXPECT_NE(combined(std::vector<SharedFingerprint>{{.of = a, .share = 1}, {.of = a, .share = 1}}).targets, mean(1).targets);
  EXPECT_FALSE(combined(std::vector<SharedFingerprint>{{.of = a}, {.of = {}}}).is_known());
  EXPECT_FALSE(combined({}).is_known());
}

}  // namespace
}  // namespace dikkat
