#include "train/run/objectives/classify.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/run/objectives/objective_runs.h"
#include "train/model/classifier.h"
#include "train/model/trained_model.h"
#include "train/run/verify_resume.h"

// Runs that learn labels: the first loss, learning, exact resume, and the classifier that they make.
namespace dikkat {
namespace {

class LabelRuns : public ObjectiveRuns {
 protected:
  LabelRuns()
      : ObjectiveRuns([](Config& c) {
          c.model.block_size = 48;
          c.model.tie_embeddings = false;
          c.tokenizer.kind = "byte";
        }) {
    // The last word decides: lamp is spam, ships are ships, both are both, and night is neither.
    const std::vector<std::string> words = {"the", "turns", "and", "go", "by"}, ends = {"lamp", "ships", "both", "night"};
    const RandomStream stream(7, "labels", 0);
    std::string table = "text,label\n", lists;
    index at = 0;
    for (int i = 0; i < 160; ++i) {
      const std::size_t end = stream.word(at++) % ends.size();
      const bool is_spam = end == 0 || end == 2, has_ships = end == 1 || end == 2;
      std::string text;
      for (index word = 0, count = 1 + stream.word(at++) % 4; word < count; ++word) {
        text += words[stream.word(at++) % words.size()] + " ";
      }
      text += ends[end];
      table += concat(text, ',', is_spam ? "spam" : "ham", '\n');
      lists += concat(R"({"text": ")", text, R"(", "label": [)", is_spam ? R"("spam")" : "", is_spam && has_ships ? ", " : "",
                      has_ships ? R"("ships")" : "", "]}\n");
    }
    write_file(folder / "mails.csv", table);
    write_file(folder / "mails.jsonl", lists);
  }

  Config config(const char* corpus, index rank) const {
    Config c = from_base(corpus, rank);
    c.data.val_fraction = 0.25;
    c.classify.field = "label";
    resolve(c);
    return c;
  }
};

TEST_F(LabelRuns, LearnAndKeepTheBestByF1) {
  for (const index rank : {0, 4}) {
    for (const char* corpus : {"mails.csv", "mails.jsonl"}) {
      SCOPED_TRACE(concat(corpus, rank));
      Config c = config(corpus, rank);
      c.train.max_steps = 90;
      c.train.eval_interval = 30;
      const std::string run = concat("run", rank, corpus);
      const RunRecorder events = train(c, run);
      const EvaluationReport &first = events.evaluations.front(), &last = events.evaluations.back();
      EXPECT_EQ(last.decided_by, "macro_f1");
      EXPECT_GT(value_of(last.metrics, "macro_f1"), 0.85);
      EXPECT_GT(value_of(last.metrics, "accuracy"), 0.85);
      EXPECT_LT(last.val_loss, 0.6 * first.val_loss);
      EXPECT_EQ(last.table.labels,
                (std::string(corpus) == "mails.csv" ? std::vector<std::string>{"ham", "spam"} : std::vector<std::string>{"ships", "spam"}));
      // The run's model gives these labels to other texts.
      const TrainedModel trained = load_trained_model((folder / run).string(), {.choice = CheckpointChoice::best});
      const Classifier classifier(trained);
      const std::vector<std::string> texts = {"the turns lamp", "and by night", "go the both"};
      const auto answers = classifier(texts);
      const std::size_t spam = 1;
      EXPECT_GT(answers[0].probabilities[spam], 0.5);
      EXPECT_LT(answers[1].probabilities[spam], 0.5);
      EXPECT_GT(answers[2].probabilities[spam], 0.5);
      EXPECT_EQ(answers[0].tokens, 14);
    }
  }
}

TEST_F(LabelRuns, BeginAtTheLossOfAnEvenGuess) {
  Config c = config("mails.csv", 0);
  c.train.max_steps = 1;
  const RunRecorder events = train(c, "first");
  EXPECT_NEAR(events.steps.front().loss, std::log(2), 0.05);
  EXPECT_NEAR(events.evaluations.front().val_loss, std::log(2), 0.05);
  // With balanced weights the mean weight is 1, so an even guess has the same loss.
  c.classify.weights = LabelWeights::balanced;
  EXPECT_NEAR(train(c, "balanced").steps.front().loss, std::log(2), 0.12);
}

TEST_F(LabelRuns, ResumeWithTheSameBitsOnAnyNumberOfThreads) {
  for (const index rank : {0, 3}) {
    for (const char* corpus : {"mails.csv", "mails.jsonl"}) {
      Config c = config(corpus, rank);
      c.model.dropout = 0.1;
      c.classify.weights = LabelWeights::balanced;
      const auto proof = verify_resume(c, 6, folder / concat("verify", rank, corpus), {}, never, [](double) {});
      ASSERT_TRUE(proof.has_value());
      EXPECT_EQ(proof->difference, "") << corpus << rank;
    }
  }
}

TEST_F(LabelRuns, ContinueAfterAStop) {
  for (const index rank : {0, 3}) {
    const Config c = config("mails.csv", rank);
    const RunRecorder whole = train(c, concat("whole", rank));
    RunRecorder parts;
    Trainer::start(c, folder / concat("parts", rank)).run(parts, after(6));
    const std::size_t done = parts.steps.size();
    EXPECT_TRUE(0 < done && done < 12) << done;
    Trainer::resume(folder / concat("parts", rank), {}).run(parts, never);
    ASSERT_EQ(parts.steps.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_EQ(parts.steps[i].loss, whole.steps[i].loss) << i;
      EXPECT_EQ(parts.steps[i].gradient_norm, whole.steps[i].gradient_norm) << i;
    }
    EXPECT_EQ(parts.evaluations.back().val_loss, whole.evaluations.back().val_loss);
  }
}

TEST_F(LabelRuns, FindTheirBaseAmongItsCheckpoints) {
  Config c = config("mails.csv", 3);
  c.train.max_steps = 2;
  train(c, "run");
  TrainingEvents nobody;
  Trainer::resume(folder / "base", {.overrides = {"train.max_steps=8", "train.keep_last=9", "train.eval_interval=2"}}).run(nobody, never);
  const TrainedModel trained = load_trained_model((folder / "run").string());
  EXPECT_EQ(trained.config.model.classes, 2);
}

TEST_F(LabelRuns, ContinueWithTheLabelsOfAClassifier) {
  const RunRecorder first = train(config("mails.csv", 0), "first");
  Config c = config("mails.csv", 0);
  c.train.init_from = (folder / "first").string();
  c.classify.labels = {"ham", "spam"};
  c.model.classes = 2;
  c.train.max_steps = 1;
  const RunRecorder second = train(c, "second");
  const auto best = std::find_if(first.evaluations.rbegin(), first.evaluations.rend(), [](const EvaluationReport& r) { return r.best; });
  ASSERT_NE(best, first.evaluations.rend());
  EXPECT_EQ(second.evaluations.front().val_loss, best->val_loss) << "the head of the best checkpoint is kept";
}

TEST_F(LabelRuns, RefuseWhatCannotBeLabeled) {
  Config c = config("mails.csv", 0);
  c.train.sample_prompts = {"the"};
  EXPECT_TRUE(testing::names(input_error_of([&] { validate(c); }), {"classify.field", "train.sample_prompts"}));
  c = config("mails.csv", 0);
  c.data.sources = {{.name = "a", .corpus = c.data.corpus}};
  c.data.corpus.clear();
  EXPECT_TRUE(testing::names(input_error_of([&] { validate(c); }), {"classify.field", "data.sources"}));
  c = config("mails.csv", 0);
  c.classify.field.clear();
  c.model.classes = 2;
  EXPECT_TRUE(testing::names(input_error_of([&] { validate(c); }), {"classify.field", "model.classes"}));
  // A model without labels is not a classifier.
  const TrainedModel base = load_trained_model((folder / "base").string());
  EXPECT_TRUE(testing::names(input_error_of([&] { const Classifier classifier(base); }), {"base", "--labels"}));
  require_no_classifier(base);
}

}  // namespace
}  // namespace dikkat
