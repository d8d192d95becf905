#include <cstring>

#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/exchange/export_model.h"
#include "train/model/fake_quantized_weights.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

using testing::names;

struct RoundedRun : TrainingEvents {
  void evaluated(const EvaluationReport& r) override { report = r; }
  EvaluationReport report;
};

/// Runs that are trained for four bits (train.quantize), of models that GGUF can hold.
class Quantized : public ::testing::Test {
 protected:
  Quantized() { write_file(folder / "corpus.txt", tiny_text()); }

  Config config(Quantize quantize) const {
    Config c = tiny_config(folder / "corpus.txt");
    c.model.n_embd = 32;
    c.tokenizer.kind = "bpe";
    c.tokenizer.vocab_size = 280;
    c.train.quantize = quantize;
    c.train.quantize_share = 0.4;
    c.train.eval_tokens = 0;
    c.train.eval_interval = 10;
    c.optim.ema_decay = 0.5;
    resolve(c);
    return c;
  }
  EvaluationReport train(const Config& c, const char* run) const {
    RoundedRun events;
    Trainer::start(c, folder / run).run(events, never);
    return events.report;
  }
  std::string checkpoint(const char* run) const { return contents(folder / run / "checkpoints/step-000000020.h5"); }

  TemporaryFolder folder;
};

TEST_F(Quantized, WeightsAreThoseOfAnExport) {
  const EvaluationReport report = train(config(Quantize::q4), "run");
  TrainedModel used = load_trained_model((folder / "run").string(), {.choice = CheckpointChoice::newest});
  export_model({used.config.model, used.model->parameters(), *used.tokenizer}, folder / "model.gguf",
               {.format = ExportFormat::gguf, .type = WeightType::q4_0});
  const TrainedModel exported = load_trained_model(folder / "model.gguf");

  FakeQuantizedWeights rounded(used.model->parameters());
  rounded.reserve();
  rounded.show();
  index differing = 0;
  for (ParameterStore::Entry* entry : used.model->parameters().entries()) {
    const auto* exact = static_cast<const float*>(entry->values);
    const float* weights = entry->tensor().data<float>();
    const float* theirs = exported.model->parameters().entry(entry->path).tensor().data<float>();
    const std::size_t bytes = static_cast<std::size_t>(entry->size()) * sizeof(float);
    EXPECT_EQ(std::memcmp(weights, theirs, bytes), 0) << entry->path;
    differing += static_cast<index>(std::memcmp(weights, exact, bytes) != 0);
  }
  EXPECT_GT(differing, 8);

  // The run's loss is that of the file.
  const Trainer again = Trainer::resume(folder / "run", {});
  LanguageScorer scorer(*exported.model);
  Evaluator evaluator(scorer);
  EXPECT_EQ(evaluator(*again.data().sources.front().validation->evaluation(), {})->loss, report.val_loss);
}

TEST_F(Quantized, RoundsOnlyTheLastSteps) {
  train(config(Quantize::q4), "rounded");
  train(config(Quantize::none), "exact");
  const auto steps = [&](const char* run) {
    std::vector<std::string> lines = timeless_metrics(folder / run);
    std::erase_if(lines, [](const std::string& line) { return line.find("\"eval\"") != std::string::npos; });
    return lines;
  };
  const std::vector<std::string> rounded = steps("rounded"), exact = steps("exact");
  ASSERT_EQ(rounded.size(), 20U);
  ASSERT_EQ(exact.size(), 20U);
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    EXPECT_EQ(rounded[i] == exact[i], i < 12) << rounded[i];  // 0.4 of 20 steps
  }
}

TEST_F(Quantized, ContinuesToTheSameBits) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    Config c = config(Quantize::q4);
    c.train.precision = precision;
    c.train.emulate_bf16 = true;
    const std::string whole = concat("whole-", name_of(precision)), parts = concat("parts-", name_of(precision));
    train(c, whole.c_str());
    {
      TrainingEvents events;
      EXPECT_EQ(Trainer::start(c, folder / parts).run(events, after(14)), Trainer::Outcome::stopped);
    }
    TrainingEvents events;
    Trainer::resume(folder / parts, {}).run(events, never);
    EXPECT_TRUE(checkpoint(parts.c_str()) == checkpoint(whole.c_str())) << name_of(precision);
  }
}

TEST_F(Quantized, RefusesWhatItCannotRound) {
  Config narrow = config(Quantize::q4);
  narrow.model.n_embd = 24;
  resolve(narrow);
  EXPECT_TRUE(names(testing::error_of([&] { Trainer::start(narrow, folder / "narrow"); }), {"train.quantize", "24", "model.n_embd"}));
  Config adapters = config(Quantize::q4);
  adapters.lora.rank = 2;
  EXPECT_TRUE(names(testing::error_of([&] { validate(adapters); }), {"train.quantize", "lora.rank"}));
  train(config(Quantize::q4), "run");
  EXPECT_TRUE(
      names(testing::error_of([&] { Trainer::resume(folder / "run", {.overrides = {"train.quantize=none"}}); }), {"train.quantize"}));
}

}  // namespace
}  // namespace dikkat
