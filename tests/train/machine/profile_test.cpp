#include "train/machine/profile.h"

#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include "autograd/tape/tape.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/machine/rate.h"
#include "train/model/model_flops.h"

namespace dikkat {
namespace {

using testing::names;

/// The calls in a step by name, from the lines of the table below `title`.
std::map<std::string, double> calls_in(const std::string& table, const std::string& title) {
  std::map<std::string, double> calls;
  std::istringstream lines(table);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      inside = line.starts_with(title);
    } else if (inside) {
      calls[line.substr(2, line.find("  ", 2) - 2)] = std::stod(line.substr(24));
    }
  }
  return calls;
}

TEST(Profile, CountsTheOpsOfAStep) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  Config config = tiny_config(folder / "corpus.txt");
  config.train.max_steps = 8;
  Trainer trainer = Trainer::start(config, folder / "run");
  Profile profile;
  trainer.set_profile(&profile);
  TrainingEvents quiet;
  trainer.run(quiet, never);
  const std::string table = profile.table();
  EXPECT_TRUE(names(table.substr(0, table.find('\n')), {"6 steps"})) << "of 8, less the first two";
  const auto forward = calls_in(table, "forward"), backward = calls_in(table, "backward"), once = calls_in(table, "once a step");
  // 3 micro-batches, 2 layers of 1 attention
  EXPECT_EQ(forward.at("attention"), 6) << table;
  EXPECT_EQ(backward.at("attention"), 6) << table;
  EXPECT_EQ(forward, backward) << table;
  EXPECT_EQ(once.at("AdamW"), 1) << table;
  EXPECT_EQ(once.at("waiting for batches"), 3) << table;
  EXPECT_TRUE(names(table, {"GFLOP/s", "GB/s"}));
}

TEST(Profile, OfAShortRunHasAllItsSteps) {
  Profile profile;
  EXPECT_TRUE(names(profile.table(), {"profile", "no step"}));
  for (const int steps : {1, 2}) {
    profile.step_begins();
    profile.step_ends(0.5);
    EXPECT_TRUE(names(profile.table(), {steps == 1 ? "1 step," : "2 steps,", "500.000 ms"}));
  }
}

TEST(Profile, ChangesNoBit) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  TrainingEvents quiet;
  Profile profile;
  for (const char* name : {"plain", "profiled"}) {
    Trainer trainer = Trainer::start(tiny_config(folder / "corpus.txt"), folder / name);
    if (std::string(name) == "profiled") {
      trainer.set_profile(&profile);
      trainer.measure_gemm_rate([] { return 1e15; });
    }
    trainer.run(quiet, never);
  }
  EXPECT_EQ(timeless_metrics(folder / "plain"), timeless_metrics(folder / "profiled"));
  const char* last = "checkpoints/step-000000020.h5";
  EXPECT_TRUE(contents(folder / "plain" / last) == contents(folder / "profiled" / last));
}

/// Counts the operations of the products that a step's ops report.
struct Counted : TapeObserver {
  void forward_begins() override {}
  void forward_ends(const OpRun& run) override { add(run, run.cost.forward.flops); }
  void backward_begins() override {}
  void backward_ends(const OpRun& run) override { add(run, run.cost.backward.flops); }
  void add(const OpRun& run, double flops) { (std::string_view(run.op) == "attention" ? attention : products) += flops; }
  double products = 0, attention = 0;
};

void expect_formula(const TransformerConfig& config, Batch batch) {
  LanguageModel model(config, 11);
  model.parameters().allocate(1);
  std::fill(batch.inputs.begin(), batch.inputs.end(), 1);
  std::fill(batch.targets.begin(), batch.targets.end(), 2);
  std::fill(batch.weights.begin(), batch.weights.end(), 1.0F);
  std::fill(batch.source.begin(), batch.source.end(), 3);
  std::fill(batch.source_lengths.begin(), batch.source_lengths.end(), static_cast<std::int32_t>(batch.lengths.source_cols));
  Counted counted;
  Tape tape;
  tape.observe(&counted);
  Pass pass{.tape = tape, .training = true};
  tape.backward(model.loss(pass, batch, 1));
  const TransformerConfig resolved = with_defaults(config);
  const index width = resolved.n_head * resolved.head_size;
  // Ops compute the scores of attention twice, 14 instead of 12 a pair, and include the diagonal.
  const auto pairs_of = [&](bool causal, index queries, index keys) {
    return static_cast<double>(causal ? queries * (queries + 1) / 2 : queries * keys) * static_cast<double>(batch.rows * width);
  };
  const auto t = batch.lengths.cols, s = batch.lengths.source_cols;
  const double layers = static_cast<double>(config.n_layer),
               encoders = config.n_encoder_layer.is_set() ? static_cast<double>(config.n_encoder_layer) : 0.0;
  EXPECT_DOUBLE_EQ(counted.attention, 14 * (layers * (pairs_of(true, t, t) + pairs_of(false, t, s)) + encoders * pairs_of(false, s, s)));
  const double halves = static_cast<double>(batch.rows * width * t * t) / 2;
  const double pairs = layers * (halves + pairs_of(false, t, s)) + encoders * pairs_of(false, s, s);
  EXPECT_DOUBLE_EQ(training_flops(model, batch), counted.products + 12 * pairs);
}

TEST(TrainingFlops, AreThoseOfTheProductsThatAreMade) {
  Batch batch;
  batch.reshape(3, {.cols = 6});
  expect_formula({.n_layer = 2, .n_head = 2, .n_embd = 8, .block_size = 6}, batch);
  expect_formula({.n_layer = 1, .n_head = 2, .n_embd = 8, .n_hidden = 12, .block_size = 7, .tie_embeddings = false}, batch);
  TransformerConfig llama{.n_layer = 2,
                          .n_head = 6,
                          .n_kv_head = 2,
                          .n_embd = 8,
                          .head_size = 4,
                          .n_hidden = 12,
                          .block_size = 6,
                          .bias = false,
                          .norm = NormKind::rms_norm,
                          .qk_norm = true,
                          .activation = Activation::silu,
                          .gated = true,
                          .logit_softcap = 5};
  llama.positions = Positions::rope;
  expect_formula(llama, batch);
  llama.residual_scalars = llama.embedding_norm = true;
  llama.value_embeddings = ValueEmbeddings::alternate;
  expect_formula(llama, batch);
  batch.reshape(3, {.cols = 6, .source_cols = 4});
  expect_formula({.kind = ModelKind::encoder_decoder, .n_layer = 2, .n_encoder_layer = 1, .n_head = 2, .n_embd = 8, .block_size = 6},
                 batch);
  llama.kind = ModelKind::encoder_decoder;
  llama.n_encoder_layer = 1;
  expect_formula(llama, batch);
}

TEST(TrainingFlops, LeavePaddingOut) {
  const TransformerConfig config{
      .kind = ModelKind::encoder_decoder, .n_layer = 1, .n_encoder_layer = 1, .n_head = 2, .n_embd = 8, .block_size = 16};
  const LanguageModel model(config, 11);
  const auto flops = [&](index cols, index source_cols) {  // of one row with 3 targets and a source of 2
    Batch batch;
    batch.reshape(1, {.cols = cols, .source_cols = source_cols});
    std::fill_n(batch.weights.begin(), 3, 1.0F);
    batch.source_lengths[0] = 2;
    return training_flops(model, batch);
  };
  EXPECT_GT(flops(3, 2), 0);
  EXPECT_EQ(flops(3, 2), flops(8, 16));
}

TEST(GemmShare, IsOfTheRateThatWasGiven) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  struct Recorder : TrainingEvents {
    void stepped(const StepReport& r) override { reports.push_back(r); }
    std::vector<StepReport> reports;
  } recorder;
  Config config = tiny_config(folder / "corpus.txt");
  config.train.max_steps = 1;
  Trainer trainer = Trainer::start(config, folder / "run");
  trainer.measure_gemm_rate([] { return 1e15; });
  EXPECT_EQ(trainer.reference_rate().highest(), 1e15);
  trainer.run(recorder, never);
  config.train.seed = 2;
  Trainer::start(config, folder / "unknown").run(recorder, never);
  ASSERT_EQ(recorder.reports.size(), 2U);
  Batch batch;
  batch.reshape(15, {.cols = 24});
  EXPECT_NEAR(recorder.reports[0].mfu, training_flops(trainer.model(), batch) / recorder.reports[0].seconds / 1e15, 1e-12);
  EXPECT_TRUE(std::isnan(recorder.reports[1].mfu));
  EXPECT_TRUE(names(contents(folder / "unknown" / "metrics.jsonl"), {"\"mfu\":null"}));
}

// Beside another program, the rate measured at the start is too low.
TEST(GemmShare, AStepThatBeatsTheRateHasItMeasuredAgain) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  struct Recorder : TrainingEvents {
    void stepped(const StepReport& r) override { shares.push_back(r.mfu); }
    std::vector<double> shares;
  } recorder;
  Trainer trainer = Trainer::start(tiny_config(folder / "corpus.txt"), folder / "run");
  int measured = 0;
  trainer.measure_gemm_rate([&] { return ++measured <= 2 ? 1.0 : measured == 3 ? 0.95e15 : 1e15; });
  trainer.run(recorder, never);
  EXPECT_GE(measured, 3);
  for (const double share : recorder.shares) {
    EXPECT_FALSE(share > 1) << "of a rate that was far too low";
  }
}

// On a busy machine, two measurements may differ by a factor of five.
TEST(ReferenceRate, IsTheHighestAndIsKnownWhenTwoMeasurementsAgree) {
  std::vector<double> rates = {78, 389, 120, 375, 600};
  std::size_t next = 0;
  ReferenceRate reference([&] { return rates.at(next++); });
  EXPECT_EQ(next, 2U);
  EXPECT_EQ(reference.lowest(), 78);
  EXPECT_EQ(reference.highest(), 389);
  EXPECT_FALSE(reference.is_known());
  EXPECT_TRUE(std::isnan(reference.share(50, 1))) << "50 of 78 would be 64 %";
  EXPECT_TRUE(std::isnan(reference.share(50, 2.5))) << "120";
  EXPECT_EQ(next, 3U);
  EXPECT_TRUE(std::isnan(reference.share(50, 9)));
  EXPECT_EQ(next, 3U) << "it measures again after a time that grows";
  EXPECT_DOUBLE_EQ(reference.share(50, 10), 50.0 / 389) << "375 agrees";
  EXPECT_DOUBLE_EQ(reference.share(100, 11), 100.0 / 389);
  EXPECT_TRUE(std::isnan(reference.share(450, 12))) << "a faster step makes it measure again: 600";
  EXPECT_EQ(reference.highest(), 600);
  EXPECT_EQ(next, 5U);
}

TEST(ReferenceRate, IsUnknownWithoutAMeasurement) {
  ReferenceRate none;
  EXPECT_FALSE(none.is_known());
  EXPECT_TRUE(std::isnan(none.share(1, 1)));
}

// Beside another program most products are slow. Here they take a second, as every look at the clock, except for one product of the third
// burst.
TEST(GemmRate, IsThatOfTheBestOfSeveralBursts) {
  constexpr int kFirstOfThirdBurst = 2 + 2 * 4 + 3;  // two for the first product; four for each burst
  int asked = 0;
  double now = 0;
  const double rate = gemm_rate_by(DType::f32, [&] { return now += ++asked == kFirstOfThirdBurst ? 0.001 : 1.0; });
  EXPECT_NEAR(rate, 2.0 * 1024 * 768 * 768 / 0.001, 1e6);
}

TEST(GemmRate, IsThatOfThisMachine) {
  const double rate = gemm_rate(DType::f32);
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e15);
}

}  // namespace
}  // namespace dikkat
