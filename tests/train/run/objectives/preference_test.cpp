#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/run/objectives/objective_runs.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/config/resolve.h"
#include "train/run/objectives/reference.h"
#include "train/run/verify_resume.h"

// Runs that learn preferences: the first step, learning, the reference, exact resume, and what is refused.
namespace dikkat {
namespace {

using testing::names;

class Preferences : public ObjectiveRuns {
 protected:
  Preferences()
      : ObjectiveRuns([](Config& c) {
          c.model.block_size = 64;
          c.tokenizer.kind = "bpe";
          c.tokenizer.vocab_size = 300;
        }) {
    const std::vector<std::string> words = {"the", "lamp", "turns", "and", "ships", "go", "by", "night"};
    const RandomStream stream(7, "preferences", 0);
    std::string pairs, judged;
    index at = 0;
    const auto text = [&](index most) {
      std::string all;
      for (index i = 0, length = 1 + stream.word(at++) % most; i < length; ++i) {
        all += (i > 0 ? " " : "") + words[stream.word(at++) % words.size()];
      }
      return all;
    };
    for (int i = 0; i < 40; ++i) {
      const std::string prompt = text(3), good = "ships " + text(4), bad = "lamp " + text(6);
      pairs += nlohmann::json{{"prompt", prompt}, {"chosen", good}, {"rejected", bad}}.dump() + "\n";
      judged += nlohmann::json{{"prompt", prompt}, {"completion", i % 3 == 0 ? bad : good}, {"label", i % 3 != 0}}.dump() + "\n";
    }
    write_file(folder / "pairs.jsonl", pairs);
    write_file(folder / "judged.jsonl", judged);
  }

  Config config(PreferenceMethod method, index rank, const char* corpus = "pairs.jsonl") const {
    Config c = from_base(corpus, rank);
    c.preference.method = method;
    c.lora.dropout = 0.3;
    c.optim.learning_rate = rank > 0 ? 1e-2 : 2e-3;
    resolve(c);
    return c;
  }
};

TEST_F(Preferences, BeginAtLnTwoWithoutMargins) {
  for (const index rank : {0, 2}) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      Config c = config(PreferenceMethod::dpo, rank);
      c.train.precision = precision;
      c.train.emulate_bf16 = true;
      c.train.max_steps = 1;
      const RunRecorder events = train(c, concat("first", rank, name_of(precision)).c_str());
      ASSERT_EQ(events.steps.size(), 1U);
      const StepReport& first = events.steps.front();
      EXPECT_NEAR(first.loss, std::numbers::ln2, 1e-14);
      EXPECT_EQ(value_of(first.metrics, "rewards_margin"), 0);
      EXPECT_EQ(value_of(first.metrics, "rewards_chosen"), 0);
      EXPECT_EQ(value_of(first.metrics, "rewards_rejected"), 0);
      EXPECT_EQ(value_of(first.metrics, "rewards_accuracy"), 0.5);
      EXPECT_LT(value_of(first.metrics, "logps_chosen"), 0);
      ASSERT_FALSE(events.evaluations.empty());
      EXPECT_NEAR(events.evaluations.front().val_loss, std::numbers::ln2, 1e-6) << "the evaluation has blocks of another shape";
    }
  }
}

TEST_F(Preferences, AreLearnedByEveryMethod) {
  for (const PreferenceMethod method :
       {PreferenceMethod::dpo, PreferenceMethod::ipo, PreferenceMethod::orpo, PreferenceMethod::simpo, PreferenceMethod::kto}) {
    for (const index rank : {0, 2}) {
      SCOPED_TRACE(concat(name_of(method), rank));
      Config c = config(method, rank, method == PreferenceMethod::kto ? "judged.jsonl" : "pairs.jsonl");
      c.preference.sft_share = 0.1;
      c.lora.dropout = 0;
      c.data.val_fraction = 0.3;
      c.train.max_steps = 60;
      const RunRecorder events = train(c, concat(name_of(method), rank).c_str());
      const EvaluationReport& last = events.evaluations.back();
      EXPECT_GT(value_of(last.metrics, "rewards_margin"), value_of(events.evaluations.front().metrics, "rewards_margin"));
      EXPECT_GE(value_of(last.metrics, "rewards_accuracy"), method == PreferenceMethod::kto ? 0.5 : 0.75);
      EXPECT_LT(last.val_loss, events.evaluations.front().val_loss);
      EXPECT_TRUE(std::isnan(value_of(last.metrics, "kl")) == (method != PreferenceMethod::kto));
      EXPECT_EQ(std::filesystem::exists(reference_file(folder / concat(name_of(method), rank))), c.preference.has_reference());
    }
  }
}

/// Which answer is good depends on the prompt here, so mismatched answers are bad ones half of the time. In the examples above an answer is
/// good after any prompt: then mismatched answers become likelier too, and z is close to the mean of all rewards.
TEST_F(Preferences, OfKtoDependOnThePrompt) {
  const std::vector<std::string> words = {"the", "lamp", "turns", "and", "ships", "go", "by", "night"};
  std::string judged;
  for (std::size_t i = 0; i < 120; ++i) {
    const bool south = i / 2 % 2 == 1, good = i % 3 != 0;
    const std::string prompt = concat(words[i % 8], ' ', words[i / 8 % 8], ' ', words[i / 64], south ? " go and" : " by night");
    judged += nlohmann::json{{"prompt", prompt}, {"completion", south == good ? "lamp" : "ships"}, {"label", good}}.dump() + "\n";
  }
  write_file(folder / "asked.jsonl", judged);
  Config c = config(PreferenceMethod::kto, 0, "asked.jsonl");
  c.preference.bad_weight = 2;
  c.optim.learning_rate = 1e-2;
  c.data.val_fraction = 0.3;
  c.train.batch_size = 4;
  c.train.max_steps = 150;
  c.train.eval_interval = 150;
  const RunRecorder events = train(c, "asked");
  const Metrics& last = events.evaluations.back().metrics;
  EXPECT_GT(value_of(last, "rewards_accuracy"), 0.95);
  EXPECT_GT(value_of(last, "rewards_margin"), 0.5);
  EXPECT_LT(value_of(last, "kl") * c.preference.beta, value_of(last, "rewards_chosen"));
}

TEST_F(Preferences, AutoChoosesByTheData) {
  const auto chosen = [&](const char* corpus) {
    Config c = config(PreferenceMethod::auto_, 2, corpus);
    return Trainer::plan(c).config().preference.method;
  };
  EXPECT_EQ(chosen("pairs.jsonl"), PreferenceMethod::dpo);
  EXPECT_EQ(chosen("judged.jsonl"), PreferenceMethod::kto);
  EXPECT_EQ(chosen("text.txt"), PreferenceMethod::none);
}

TEST_F(Preferences, ResumeExactlyOnAnyThreads) {
  for (const auto& [method, corpus] : {std::pair(PreferenceMethod::dpo, "pairs.jsonl"), std::pair(PreferenceMethod::kto, "judged.jsonl")}) {
    for (const index rank : {0, 2}) {
      const auto proof = verify_resume(config(method, rank, corpus), 6, folder / "verify", {}, never, [](double) {});
      ASSERT_TRUE(proof.has_value());
      EXPECT_EQ(proof->difference, "") << name_of(method) << rank;
    }
  }
}

TEST_F(Preferences, AStepDoesNotDependOnItsPasses) {
  const auto first_loss = [&](index batch, index passes, const char* run) {
    Config c = config(PreferenceMethod::ipo, 2);
    c.train.batch_size = batch;
    c.train.gradient_accumulation_steps = passes;
    c.train.max_steps = 2;
    return train(c, run).steps.back();
  };
  const StepReport one = first_loss(4, 1, "one"), two = first_loss(2, 2, "two"), four = first_loss(1, 4, "four");
  EXPECT_NEAR(one.loss, two.loss, 1e-5 * std::abs(one.loss));
  EXPECT_NEAR(one.loss, four.loss, 1e-5 * std::abs(one.loss));
  EXPECT_NEAR(one.gradient_norm, two.gradient_norm, 1e-3 * one.gradient_norm);
  EXPECT_EQ(one.tokens, four.tokens);
}

TEST_F(Preferences, NeedTheReferenceThatTheyBeganWith) {
  const Config c = config(PreferenceMethod::dpo, 2);
  TrainingEvents nobody;
  {
    Trainer trainer = Trainer::start(c, folder / "run");
    trainer.run(nobody, [&] { return trainer.state().step >= 3; });
  }
  const std::filesystem::path file = reference_file(folder / "run");
  const std::string text = contents(file);
  const auto refusal = [&] { return input_error_of([&] { Trainer::resume(folder / "run", {}); }); };
  nlohmann::json object = nlohmann::json::parse(text);
  for (const char* name : {"base", "template", "tokens"}) {
    nlohmann::json other = object;
    other[name] = std::string(64, '0');
    write_file(file, other.dump());
    EXPECT_TRUE(names(refusal(), {"reference.json", std::string(64, '0'), object[name].get<std::string>()}));
  }
  nlohmann::json damaged = object;
  damaged["log_probabilities"]["train"]["values"][3] = -1.5;
  write_file(file, damaged.dump());
  EXPECT_TRUE(names(refusal(), {"reference.json", "damaged"}));
  write_file(file, "nothing");
  EXPECT_TRUE(names(refusal(), {"reference.json"}));
  std::filesystem::remove(file);
  EXPECT_TRUE(names(refusal(), {"reference.json", "missing"}));
  write_file(file, text);
  EXPECT_EQ(Trainer::resume(folder / "run", {}).run(nobody, never), Trainer::Outcome::finished);
}

TEST_F(Preferences, KeepTheBestByAccuracy) {
  EvaluationReport low{.val_loss = 0.5}, high{.val_loss = 0.6}, equal{.val_loss = 0.4}, bad{.val_loss = std::nan("")};
  low.metrics = {{.name = "rewards_accuracy", .value = 0.7}};
  high.metrics = {{.name = "rewards_accuracy", .value = 0.8}};
  equal.metrics = {{.name = "rewards_accuracy", .value = 0.7}};
  bad.metrics = {{.name = "rewards_accuracy", .value = 0.9}};
  for (EvaluationReport* report : {&low, &high, &equal, &bad}) {
    report->decided_by = "rewards_accuracy";
  }
  EXPECT_TRUE(is_better(score_of(high), score_of(low)));
  EXPECT_FALSE(is_better(score_of(low), score_of(high)));
  EXPECT_TRUE(is_better(score_of(equal), score_of(low)));
  EXPECT_FALSE(is_better(score_of(bad), score_of(low)));
  EXPECT_TRUE(is_better(score_of(low), {}));
}

TEST_F(Preferences, RefuseWhatTheyCannotLearn) {
  const auto refusal = [&](const Config& c) { return input_error_of([&] { Trainer::start(c, folder / "refused"); }); };
  EXPECT_TRUE(names(refusal(config(PreferenceMethod::dpo, 2, "text.txt")), {"preference.method", "dpo", "text.txt"}));
  EXPECT_TRUE(names(refusal(config(PreferenceMethod::dpo, 2, "judged.jsonl")), {"preference.method", "line 1", "label"}));
  EXPECT_TRUE(names(refusal(config(PreferenceMethod::none, 2, "pairs.jsonl")), {"line 1", "chosen", "preference.method"}));
  write_file(folder / "mixed.jsonl", contents(folder / "pairs.jsonl") + contents(folder / "judged.jsonl"));
  EXPECT_TRUE(names(refusal(config(PreferenceMethod::dpo, 2, "mixed.jsonl")), {"mixed.jsonl: line 41", "label"}));
  Config mixture = config(PreferenceMethod::dpo, 2);
  mixture.data.sources = {{.name = "a", .corpus = mixture.data.corpus}, {.name = "b", .corpus = {(folder / "text.txt").string()}}};
  mixture.data.corpus.clear();
  EXPECT_THROW(validate(mixture), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder / "refused"));
}

}  // namespace
}  // namespace dikkat
