#include "train/run/memory_plan.h"

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "optim/adamw.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/model/pack_weights.h"
#include "train/model/trained_model.h"
#include "train/run/objectives/language.h"
#include "train/run/objectives/preference.h"
#include "train/run/trainer.h"
#include "train/run/trial.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

struct Case {
  const char* name;
  std::string keys;
  index vocabulary;
  RowLengths lengths;
};

Config config_of(const Case& c) {
  Config config = parse_config(c.keys, c.name);
  resolve(config);
  return config;
}

Batch batch_of(const Case& c, index rows) {
  Batch batch;
  batch.reshape(rows, c.lengths);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    batch.inputs[i] = static_cast<Token>(i % static_cast<std::size_t>(c.vocabulary));
    batch.targets[i] = static_cast<Token>(i * 7 % static_cast<std::size_t>(c.vocabulary));
    batch.weights[i] = 1;
  }
  std::fill(batch.source_lengths.begin(), batch.source_lengths.end(), static_cast<std::int32_t>(c.lengths.source_cols));
  return batch;
}

/// Keys of [model] that make it a Llama.
const std::string kLlama =
    "n_layer = 2\nn_head = 6\nn_kv_head = 2\nn_embd = 64\nhead_size = 10\nbias = false\nnorm = \"rms_norm\"\nqk_norm = true\n"
    "positions = \"rope\"\nactivation = \"silu\"\ngated = true\nlogit_softcap = 10.0\n";

/// Keys of [model] that make it a Gemma 3, with windows in two of three layers.
const std::string kGemma =
    "n_layer = 3\nn_head = 4\nn_kv_head = 1\nn_embd = 64\nbias = false\nnorm = \"rms_norm\"\nqk_norm = true\npositions = \"rope\"\n"
    "gated = true\nnorm_position = \"sandwich\"\nwindow = 70\nwindow_pattern = 3\nrope_theta_local = 1000.0\nresidual_scale = 0.5\n"
    "logit_scale = 2.0\n";
/// Keys of [model] that make it an OLMo 2.
const std::string kOlmo =
    "n_layer = 2\nn_head = 4\nn_embd = 64\nbias = false\nnorm = \"rms_norm\"\nqk_norm = true\nqk_norm_over = \"row\"\n"
    "positions = \"rope\"\nactivation = \"silu\"\ngated = true\nnorm_position = \"branch\"\n";

/// nanochat's keys of [model] for small models.
const std::string kNanochat =
    "n_layer = 3\nn_embd = 64\ntie_embeddings = false\nembedding_norm = true\nresidual_scalars = true\nvalue_embeddings = \"alternate\"\n"
    "zero_init_projections = true\nzero_head = true\n";

const Case kCases[] = {
    {"few classes", "[model]\nn_layer = 3\nn_embd = 64\nblock_size = 96\n[train]\nbatch_size = 7", 65, {96, 0}},
    {"dropout", "[model]\nn_layer = 2\nn_embd = 64\nblock_size = 48\ndropout = 0.2\n[train]\nbatch_size = 4", 65, {48, 0}},
    {"many classes", "[model]\nn_layer = 2\nn_embd = 64\nblock_size = 128\n[train]\nbatch_size = 6", 5000, {128, 0}},
    {"chunks of logits", "[model]\nn_layer = 1\nn_embd = 32\nblock_size = 200\n[train]\nbatch_size = 8", 20000, {200, 0}},
    {"block", "[model]\nn_layer = 3\nn_embd = 64\nblock_size = 96\n[train]\nbatch_size = 7\nrecompute = \"block\"", 65, {96, 0}},
    {"cheap", "[model]\nn_layer = 3\nn_embd = 64\nblock_size = 96\n[train]\nbatch_size = 7\nrecompute = \"cheap\"", 65, {96, 0}},
    {"pairs", "[model]\nkind = \"encoder_decoder\"\nn_layer = 2\nn_embd = 64\nblock_size = 40\n[train]\nbatch_size = 9", 300, {33, 21}},
    {"pairs, block",
     "[model]\nkind = \"encoder_decoder\"\nn_layer = 2\nn_embd = 64\nblock_size = 40\n[train]\nbatch_size = 9\nrecompute = \"block\"\n"
     "label_smoothing = 0.1",
     2000,
     {40, 40}},
    {"llama", "[model]\nblock_size = 300\n" + kLlama + "[train]\nbatch_size = 3", 65, {300, 0}},
    {"llama, many classes", "[model]\nblock_size = 128\n" + kLlama + "[train]\nbatch_size = 6", 5000, {128, 0}},
    {"llama, cheap", "[model]\nblock_size = 96\n" + kLlama + "[train]\nbatch_size = 7\nrecompute = \"cheap\"", 65, {96, 0}},
    {"llama, block", "[model]\nblock_size = 96\n" + kLlama + "[train]\nbatch_size = 7\nrecompute = \"block\"", 65, {96, 0}},
    {"gemma", "[model]\nblock_size = 300\n" + kGemma + "[train]\nbatch_size = 3", 65, {300, 0}},
    {"gemma, block", "[model]\nblock_size = 300\n" + kGemma + "[train]\nbatch_size = 3\nrecompute = \"block\"", 65, {300, 0}},
    {"olmo", "[model]\nblock_size = 96\n" + kOlmo + "[train]\nbatch_size = 7", 65, {96, 0}},
    {"nanochat", "[model]\nblock_size = 96\n" + kNanochat + "[train]\nbatch_size = 7", 65, {96, 0}},
    {"nanochat, block", "[model]\nblock_size = 96\n" + kNanochat + "[train]\nbatch_size = 7\nrecompute = \"block\"", 5000, {96, 0}},
    {"pairs of a llama",
     "[model]\nkind = \"encoder_decoder\"\nblock_size = 40\n" + kLlama + "[train]\nbatch_size = 9\nrecompute = \"block\"",
     2000,
     {40, 33}},
};

TEST(MemoryPlan, OfAStepIsTheMemoryThatTheStepTakes) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Config config = config_of(c);
    LanguageModel model(config.model, c.vocabulary);
    model.parameters().allocate(1);
    AdamW adamw(model.parameters(), {});
    LanguageObjective objective(model, config.train.label_smoothing);
    Tape dry;
    const MemoryPlan plan = plan_step(model, objective, adamw, config.train, c.lengths, dry);

    const Batch batch = batch_of(c, config.train.batch_size);
    Tape tape;
    Pass pass{.tape = tape, .training = true, .recompute = config.train.recompute};
    tape.backward(model.loss(pass, batch, 1, config.train.label_smoothing));
    EXPECT_EQ(plan.activations + plan.head + plan.recomputation, tape.activation_bytes());
    EXPECT_EQ(plan.recomputation, tape.recomputation_bytes());
    EXPECT_EQ(plan.recomputation > 0, config.train.recompute == Recompute::block);
    EXPECT_EQ(plan.activation_gradients, tape.gradient_bytes());
    EXPECT_GT(plan.head, 0U);
    EXPECT_LT(plan.head, tape.activation_bytes());
    EXPECT_GT(plan.scratch, 0U);
    tape.reset();
  }
}

// The head runs twice, first on a tape of its own.
TEST(MemoryPlan, OfPreferencesIsTheMemoryThatTheirStepTakes) {
  const Case c = {"preferences",
                  "[model]\nn_layer = 2\nn_embd = 64\nblock_size = 80\n[train]\nbatch_size = 3\n[preference]\nmethod = \"dpo\"\n",
                  5000,
                  {.cols = 150, .packed = true}};
  const Config config = config_of(c);
  LanguageModel model(config.model, c.vocabulary);
  model.parameters().allocate(1);
  AdamW adamw(model.parameters(), {});
  TrainingData data;
  const TrainingState state;
  PreferenceObjective planned(model, config, data, state), preference(model, config, data, state);
  Tape dry, tape;
  const MemoryPlan plan = plan_step(model, planned, adamw, config.train, c.lengths, dry);

  Batch batch = batch_of(c, config.train.batch_size);
  for (index row = 0; row < batch.rows; ++row) {
    for (const index half : {0, 75}) {
      const index begin = row * c.lengths.cols + half;
      std::fill_n(batch.starts.begin() + begin, 75, static_cast<std::int32_t>(half));
      batch.answers.push_back({.number = std::ssize(batch.answers),
                               .begin = begin,
                               .length = 75,
                               .tokens = 75,
                               .role = half == 0 ? AnswerRole::chosen : AnswerRole::rejected});
    }
  }
  batch.units = batch.step_units = batch.rows;
  Pass pass{.tape = tape, .training = true, .recompute = config.train.recompute};
  std::vector<double> sums(preference.sums());
  PassReport report{.sums = sums};
  tape.backward(preference.loss(pass, batch, report));
  EXPECT_GT(preference.bytes(), 0U);
  EXPECT_EQ(plan.activations + plan.head + plan.recomputation, tape.activation_bytes() + preference.bytes());
  EXPECT_EQ(plan.activation_gradients, tape.gradient_bytes());
  EXPECT_EQ(PreferenceSums::from(sums).units, 3);
  tape.reset();
}

// The base is packed before its values are loaded, so the plan is that of the steps.
TEST(MemoryPlan, OfAdaptersCountsAPackedBase) {
  const Case c = {"adapters", "[model]\nblock_size = 96\n" + kLlama + "[train]\nbatch_size = 3", 5000, {96, 0}};
  const Config config = config_of(c);
  std::size_t weights[2] = {};
  for (const PackedType base : {PackedType::f32, PackedType::q8}) {
    SCOPED_TRACE(name_of(base));
    LanguageModel model(config.model, c.vocabulary, {.rank = 4, .base = base});
    ParameterStore& parameters = model.parameters();
    parameters.reserve();
    AdamW adamw(parameters, {});
    LanguageObjective objective(model, config.train.label_smoothing);
    Tape dry, tape;
    const MemoryPlan step = plan_step(model, objective, adamw, config.train, c.lengths, dry);
    const MemoryPlan plan = plan_parameters(parameters, adamw, config.train);
    weights[base != PackedType::f32] = plan.weights;
    EXPECT_EQ(plan.save_copy, plan.gradients + plan.optimizer_state()) << "a checkpoint has only the adapters";
    EXPECT_EQ(plan.loading, base == PackedType::f32 ? 0U : 5000U * 64 * sizeof(float)) << "the embedding";
    parameters.initialize(1, [&](ParameterStore::Entry& entry) { pack_frozen(parameters, entry); });
    const Batch batch = batch_of(c, config.train.batch_size);
    Pass pass{.tape = tape, .training = true};
    tape.backward(model.loss(pass, batch, 1));
    EXPECT_EQ(step.activations + step.head, tape.activation_bytes());
    EXPECT_EQ(step.activation_gradients, tape.gradient_bytes());
    tape.reset();
  }
  EXPECT_LT(3 * weights[1], weights[0]) << "slightly more than a quarter of the matrices";
}

// A parameter that is trained in full has a gradient, optimizer state and a place in the checkpoint, and it is not packed.
TEST(MemoryPlan, OfAdaptersCountsWhatIsTrainedInFull) {
  const Case c = {"adapters", "[model]\nblock_size = 96\n" + kLlama + "[train]\nbatch_size = 3", 5000, {96, 0}};
  const Config config = config_of(c);
  constexpr std::size_t kTable = std::size_t{5000} * 64 * sizeof(float);
  const auto plan_of = [&](const LoraConfig& lora) {
    LanguageModel model(config.model, c.vocabulary, lora);
    model.parameters().reserve();
    AdamW adamw(model.parameters(), {});
    return plan_parameters(model.parameters(), adamw, config.train);
  };
  const MemoryPlan plain = plan_of({.rank = 4}), saved = plan_of({.rank = 4, .modules_to_save = {"embedding"}});
  EXPECT_EQ(saved.weights, plain.weights);
  EXPECT_EQ(saved.gradients - plain.gradients, plain.gradients / (plain.save_copy - plain.optimizer_state()) * kTable);
  EXPECT_EQ(saved.optimizer_state() - plain.optimizer_state(), 2 * kTable);
  EXPECT_EQ(saved.save_copy - plain.save_copy, 3 * kTable);
  const MemoryPlan packed = plan_of({.rank = 4, .modules_to_save = {"embedding"}, .base = PackedType::q8});
  EXPECT_GT(packed.weights, kTable);
  EXPECT_LT(packed.loading, kTable) << "the table is not packed";
}

TEST(MemoryPlan, TouchesNoMemory) {
  const Case big = {"big", "[model]\nn_layer = 4\nn_embd = 256\nblock_size = 512\n[train]\nbatch_size = 64", 65, {512, 0}};
  const Config config = config_of(big);
  LanguageModel model(config.model, big.vocabulary);
  model.parameters().reserve();
  AdamW adamw(model.parameters(), {});
  LanguageObjective objective(model, config.train.label_smoothing);
  Tape dry;
  const std::size_t before = process_memory().resident;
  const MemoryPlan plan = plan_step(model, objective, adamw, config.train, big.lengths, dry);
  EXPECT_GT(plan.activations, std::size_t{1} << 30);
  EXPECT_LT(process_memory().resident, before + (std::size_t{128} << 20));
}

TEST(MemoryPlan, ATapeThatIsReservedAsksTheSystemNoMore) {
  const WithThreads one(1);  // with the thread sanitizer, threads do not last, and each would ask for its scratch
  const Case& c = kCases[0];
  const Config config = config_of(c);
  LanguageModel model(config.model, c.vocabulary);
  model.parameters().allocate(1);
  AdamW adamw(model.parameters(), {});
  LanguageObjective objective(model, config.train.label_smoothing);
  Tape dry, forward_only, tape;
  plan_step(model, objective, adamw, config.train, c.lengths, dry);
  tape.reserve(dry);
  const Batch batch = batch_of(c, config.train.batch_size);
  Pass pass{.tape = tape, .training = true};
  {
    Pass warm{.tape = forward_only, .training = true};  // threads' scratch
    model.loss(warm, batch, 1);
  }
  const auto requests = Pages::requests();
  model.loss(pass, batch, 1);
  EXPECT_EQ(Pages::requests(), requests);
}

// GPT-2 124M with AdamW and eight lanes has 498 MB of weights, four slabs of gradients of that size, and two of optimizer state.
TEST(MemoryPlan, RanksShareTheLanesAndTheOptimizerState) {
  constexpr std::size_t kSlab = 498'000'000;
  const MemoryPlan plan{.weights = kSlab, .gradients = 4 * kSlab, .optimizer = {{"first moment", kSlab}, {"second moment", kSlab}}};
  EXPECT_EQ(plan.parameters_of_rank(8, 1), plan.parameters());
  EXPECT_EQ(plan.parameters_of_rank(8, 2), 5 * kSlab);
  EXPECT_EQ(plan.parameters_of_rank(8, 8), 9 * kSlab / 4);
  EXPECT_TRUE(names(error_of([&] { plan.parameters_of_rank(8, 3); }), {"3 ranks", "8 lanes"}));
}

TEST(MemoryPlan, MoreThanThereIsIsRefused) {
  const MemoryPlan plan{.weights = 100 << 20,
                        .gradients = 100 << 20,
                        .optimizer = {{"first moment", 100 << 20}, {"second moment", 100 << 20}},
                        .activations = 50 << 20,
                        .save_copy = 300 << 20};
  EXPECT_EQ(error_of([&] { require_fits(plan, {.total = std::size_t{750} << 20}); }), "");
  const std::string error = error_of([&] { require_fits(plan, {.total = std::size_t{749} << 20}); });
  EXPECT_TRUE(names(error, {"786.4 MB", "419.4 MB", "52.4 MB", "785.4 MB"}));
  EXPECT_TRUE(names(error, {"model.n_embd"})) << "most is the model's: " << error;
  const std::string batch = error_of([&] { require_fits({.weights = 1 << 20, .activations = 90 << 20}, {.total = 50 << 20}); });
  EXPECT_TRUE(names(batch, {"train.batch_size"}));
  EXPECT_TRUE(names(error_of([&] { require_fits(plan, {.address_space = 1 << 20}); }), {"ulimit -v"}));
}

TEST(MemoryPlan, OfATrainerAndItsTrial) {
  const TemporaryFolder folder;
  write_file(folder / "text.txt", tiny_text());
  Trainer trainer = Trainer::plan(tiny_config(folder / "text.txt"));
  const MemoryPlan& plan = trainer.memory_plan();
  ASSERT_EQ(plan.optimizer.size(), 2U);
  EXPECT_EQ(plan.optimizer[0].name, "first moment");
  EXPECT_EQ(plan.optimizer_state(), 2 * plan.weights);
  EXPECT_EQ(plan.save_copy, 3 * plan.weights);
  EXPECT_GT(plan.evaluation, 0U);
  EXPECT_GT(trainer.disk_plan().checkpoint, 3 * plan.weights);
  EXPECT_EQ(trainer.disk_plan().kept, 4);
  const Trial trial = run_trial(trainer, 3);
  EXPECT_EQ(trial.steps.size(), 3U);
  EXPECT_GT(trial.evaluation_seconds, 0);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1U) << "a trial leaves nothing";
}

}  // namespace
}  // namespace dikkat
