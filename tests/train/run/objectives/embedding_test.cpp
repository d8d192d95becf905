#include "train/run/objectives/embedding.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/indexing.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/matmul.h"
#include "tests/support/throws.h"
#include "tests/train/run/objectives/objective_runs.h"
#include "train/data/examples/text_pair_dataset.h"
#include "train/model/pooling.h"
#include "train/run/verify_resume.h"
#include "train/text/byte_tokenizer.h"

// Runs that learn vectors: cached gradients, learning, exact resume, and what is refused.
namespace dikkat {
namespace {

using testing::names;

/// Pairs of two words, and the numbers that they stand for.
std::string riddles(index count) {
  const std::vector<std::string> words = {"the", "lamp", "turns", "and", "ships", "go", "by", "night"};
  const std::vector<std::string> numbers = {"11", "27", "39", "44", "52", "68", "70", "86"};
  std::string lines;
  for (index i = 0; i < count; ++i) {
    const auto a = static_cast<std::size_t>(i % 8), b = static_cast<std::size_t>(i / 8 % 8);
    nlohmann::json pair = {{"query", words[a] + " " + words[b]}, {"document", concat(numbers[b], " ", numbers[a], " ", i / 64)}};
    if (i % 3 == 0) {
      pair["negatives"] = {numbers[a]};
    }
    lines += pair.dump() + "\n";
  }
  return lines;
}

class Embeddings : public ObjectiveRuns {
 protected:
  Embeddings()
      : ObjectiveRuns([](Config& c) {
          c.model.block_size = 48;
          c.tokenizer.kind = "byte";
        }) {
    write_file(folder / "pairs.jsonl", riddles(96));
  }

  Config config(index rank = 0, const char* corpus = "pairs.jsonl") const {
    Config c = from_base(corpus, rank);
    c.embedding = {.batch = 24, .temperature = 0.1};
    c.lora.dropout = 0.3;
    c.train.gradient_accumulation_steps = 3;
    c.train.max_steps = 10;
    c.train.eval_interval = 5;
    resolve(c);
    return c;
  }
  std::string refusal(const Config& c) const {
    return input_error_of([&] { Trainer::plan(c); });
  }
};

/// A step of some micro-batches of a dataset.
class GivenBatches : public Batches {
 public:
  GivenBatches(const Samples& samples, index rows, index passes) {
    RowLengths lengths;
    for (index row = 0; row < rows * passes; ++row) {
      lengths = longer(lengths, samples.lengths(row));
    }
    for (index pass = 0; pass < passes; ++pass) {
      Batch& batch = all.emplace_back();
      batch.reshape(rows, lengths);
      for (index row = 0; row < rows; ++row) {
        samples.fill(0, pass * rows + row, row, batch);
      }
      units += batch.units;
    }
    for (Batch& batch : all) {
      batch.step_units = units;
    }
  }
  const Batch& next() override { return all[at_++ % all.size()]; }

  std::vector<Batch> all;
  index units = 0;

 private:
  std::size_t at_ = 0;
};

/// The loss of the pairs of a batch without negatives, as one recorded computation: nothing is cached.
Tensor uncached_loss(const LanguageModel& model, Pass& pass, const Batch& batch, const EmbeddingConfig& config) {
  const Tensor pooled = pooled_features(model, pass, batch, config.pooling);
  const Tensor vectors = pooled / sqrt(sum(square(pooled), 1, true));
  const index pairs = batch.units, width = pooled.shape()[1];
  const Tensor sides = reshape(vectors, {pairs, 2, width});
  const Tensor anchors = reshape(slice(sides, 1, 0, 1), {pairs, width}), positives = reshape(slice(sides, 1, 1, 1), {pairs, width});
  const Tensor scores = scale(matmul(anchors, transpose(positives, 0, 1)), 1 / config.temperature);
  std::vector<Token> own(static_cast<std::size_t>(pairs));
  std::iota(own.begin(), own.end(), 0);
  return cross_entropy(scores, pass.tape.input<Token>({pairs}, own));
}

TEST_F(Embeddings, HaveTheGradientThatIsNotCached) {
  TextPairCorpus corpus;
  for (int i = 0; i < 24; ++i) {
    corpus.examples.push_back({.anchor = concat("question ", i * i, " of ", i), .positive = concat(i, " and ", i * 7, " are the answer")});
    corpus.places.emplace_back("here");
  }
  const TextPairDataset data(corpus, 0, 24, ByteTokenizer(), {.window = 48, .pairs_of_row = 4});
  for (const Pooling pooling : {Pooling::mean, Pooling::last}) {
    const double dropout = pooling == Pooling::mean ? 0.2 : 0;
    Config c = config();
    c.embedding.pooling = pooling;
    c.model.dropout = dropout;
    LanguageModel model(c.model, 256);
    model.parameters().allocate(3);
    // Returns the loss and the gradient of a step of `passes` micro-batches.
    const auto step = [&](index passes, bool caches) {
      c.train.batch_size = 6 / passes;
      c.train.gradient_accumulation_steps = passes;
      GivenBatches given(*data.evaluation(), 6 / passes, passes);
      TrainingState state;
      EmbeddingObjective objective(model, c, state);
      Ranks ranks;
      objective.prepare({.ranks = ranks, .stop = never, .progress = [](double) {}});
      const auto batches = objective.batches(std::make_unique<GivenBatches>(given));
      double loss = 0;
      Tape tape;
      for (index i = 0; i < passes; ++i) {
        const Batch& batch = batches->next();
        Pass pass{.tape = tape, .training = true, .seed = 9, .step = 4, .first_sequence = i * batch.rows};
        std::vector<double> sums(objective.sums());
        PassReport report{.sums = sums};
        const Tensor root = caches ? objective.loss(pass, batch, report) : uncached_loss(model, pass, batch, c.embedding);
        loss += caches ? *report.loss : static_cast<double>(root.item());
        tape.backward(root);
        tape.reset();
      }
      model.parameters().complete_gradients();
      const float* const gradients = model.parameters().gradients<float>();
      std::vector<double> all(gradients, gradients + model.parameters().trainable_size());
      model.parameters().clear_gradients();
      return std::pair(loss, all);
    };
    const auto [expected, gradient] = step(1, false);
    const double norm = std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
    ASSERT_GT(norm, 0.01);
    for (const index passes : {1, 3, 6}) {
      SCOPED_TRACE(concat(name_of(pooling), ' ', dropout, ' ', passes));
      const auto [loss, cached] = step(passes, true);
      EXPECT_NEAR(loss, expected, 1e-6 * expected);
      double squares = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        squares += (cached[i] - gradient[i]) * (cached[i] - gradient[i]);
      }
      EXPECT_LT(std::sqrt(squares), 2e-6 * norm);
    }
  }
}

TEST_F(Embeddings, AreLearned) {
  for (const index rank : {0, 2}) {
    Config c = config(rank);
    c.data.val_fraction = 0.3;
    c.lora.dropout = 0;
    c.train.max_steps = 72;
    c.train.eval_interval = 36;
    const RunRecorder events = train(c, concat("learned", rank));
    const EvaluationReport &first = events.evaluations.front(), &last = events.evaluations.back();
    EXPECT_EQ(last.decided_by, "mrr");
    EXPECT_GT(value_of(last.metrics, "mrr"), value_of(first.metrics, "mrr") + 0.1) << rank;
    EXPECT_LE(value_of(last.metrics, "recall_1"), value_of(last.metrics, "mrr"));
    EXPECT_LE(value_of(last.metrics, "mrr"), value_of(last.metrics, "recall_10") + 0.1);
    EXPECT_LT(last.val_loss, first.val_loss);
    EXPECT_LT(last.train_loss, first.train_loss);
    EXPECT_GE(value_of(events.steps.front().metrics, "pairs"), 18) << "rows of 3 or 4 pairs";
    EXPECT_LE(value_of(events.steps.front().metrics, "pairs"), 24);
    EXPECT_LT(events.steps.back().loss, events.steps.front().loss);
    EXPECT_LE(value_of(events.steps.back().metrics, "batch_accuracy"), 1);
  }
}

TEST_F(Embeddings, ResumeExactlyOnAnyThreads) {
  for (const index rank : {0, 2}) {
    const auto proof = verify_resume(config(rank), 5, folder / "verify", {}, never, [](double) {});
    ASSERT_TRUE(proof.has_value());
    EXPECT_EQ(proof->difference, "") << rank;
  }
}

TEST_F(Embeddings, AStepDoesNotDependOnItsPasses) {
  const auto second = [&](index rows, index passes, const char* run) {
    Config c = config();
    c.train.batch_size = rows;
    c.train.gradient_accumulation_steps = passes;
    c.train.max_steps = 2;
    return train(c, run).steps.back();
  };
  const StepReport one = second(6, 1, "one"), three = second(2, 3, "three"), six = second(1, 6, "six");
  EXPECT_NEAR(one.loss, three.loss, 1e-5 * one.loss);
  EXPECT_NEAR(one.loss, six.loss, 1e-5 * one.loss);
  EXPECT_NEAR(one.gradient_norm, three.gradient_norm, 1e-3 * one.gradient_norm);
  EXPECT_EQ(value_of(one.metrics, "pairs"), value_of(six.metrics, "pairs"));
}

TEST_F(Embeddings, ArePlannedWithTheComparisonOfAllPairs) {
  const auto with_rows = [&](index rows) {
    Config c = config();
    c.train.gradient_accumulation_steps = rows / 2;
    c.embedding.batch = 6 * rows;
    return c;
  };
  const auto compared = [&](index rows) { return static_cast<double>(Trainer::plan(with_rows(rows)).memory_plan().comparison); };
  // A third of the pairs have a negative. A large step reads them several times.
  EXPECT_GE(compared(4), 24 * 24 * 8);
  EXPECT_GE(compared(224), 1344.0 * 1344 * 8);
  EXPECT_LE(compared(224), 3 * 1344.0 * 1344 * 8);
  Config large = with_rows(174'000);
  EXPECT_TRUE(names(refusal(large), {"embedding.batch"}));
  large.train.sample_prompts = {"the"};
  EXPECT_TRUE(names(input_error_of([&] { validate(large); }), {"embedding.batch", "train.sample_prompts"}));
}

TEST_F(Embeddings, RefuseWhatTheyCannotLearn) {
  const auto pair = [](const char* a, const char* b) { return nlohmann::json{{"anchor", a}, {"positive", b}}.dump() + "\n"; };
  write_file(folder / "equal.jsonl", pair("one", "one") + pair("two", "two") + pair("three", "three"));
  write_file(folder / "once.jsonl", pair("one", "two") + pair("one", "two") + pair("one", "two"));
  write_file(folder / "mixed.jsonl", pair("one", "two") + pair("same", "same") + pair("three", "four") + pair("five", "six"));
  Config c = config(0, "equal.jsonl");
  c.data.val_fraction = 0;
  EXPECT_TRUE(names(refusal(c), {"equal.jsonl", "line 1"}));
  c.data.corpus = {(folder / "once.jsonl").string()};
  EXPECT_TRUE(names(refusal(c), {"once.jsonl", "3 pairs"}));
  c.data.corpus = {(folder / "mixed.jsonl").string()};
  const Trainer mixed = Trainer::plan(c);
  EXPECT_TRUE(
      std::ranges::any_of(mixed.data().notes, [](const std::string& note) { return names(note, {"1 pair", "mixed.jsonl: line 2"}); }));
  c.data.corpus = {(folder / "text.txt").string()};
  EXPECT_TRUE(names(refusal(c), {"text.txt"}));
  // The configuration.
  const auto problem = [&](const std::function<void(Config&)>& change) {
    Config changed = config();
    change(changed);
    return input_error_of([&] { validate(changed); });
  };
  EXPECT_TRUE(names(problem([](Config& one) { one.embedding.batch = 25; }), {"embedding.batch", "25", "6"}));
  EXPECT_TRUE(names(problem([](Config& one) { one.embedding.temperature = 0; }), {"embedding.temperature"}));
  EXPECT_TRUE(
      names(problem([](Config& one) { one.train.accumulation_schedule = {"0:1", "4:3"}; }), {"embedding.batch", "accumulation_schedule"}));
  EXPECT_TRUE(names(problem([](Config& one) { one.preference.method = PreferenceMethod::dpo; }), {"embedding.batch", "preference.method"}));
}

}  // namespace
}  // namespace dikkat
