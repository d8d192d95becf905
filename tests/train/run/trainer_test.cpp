#include <cmath>
#include <set>

#include "tests/support/throws.h"
#include "tests/train/checkpoint/forged.h"
#include "tests/train/run/tiny_run.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

using testing::names;

class Start : public ::testing::Test {
 protected:
  Start() { write_file(folder / "corpus.txt", tiny_text()); }

  Config config() const { return tiny_config(folder / "corpus.txt"); }
  std::filesystem::path run() const { return folder / "run"; }

  void expect_refused(const Config& c, const std::string& part) const {
    EXPECT_TRUE(names(input_error_of([&] { Trainer::start(c, run()); }), {part}));
    EXPECT_FALSE(std::filesystem::exists(run())) << "a refused run leaves nothing";
  }

  TemporaryFolder folder;
};

struct Recorder : TrainingEvents {
  void stepped(const StepReport& r) override { steps.push_back(r); }
  void evaluated(const EvaluationReport& r) override { evaluations.push_back(r); }
  void saved(const SavedCheckpoint& s) override { saves.push_back(s.step()); }
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<index> saves;
};

TEST_F(Start, learns_saves_and_evaluates_as_configured) {
  Recorder events;
  Trainer trainer = Trainer::start(config(), run());
  EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
  ASSERT_EQ(events.steps.size(), 20U);
  const auto vocabulary = static_cast<double>(trainer.data().tokenizer->vocab_size());
  EXPECT_NEAR(events.steps.front().loss, std::log(vocabulary), 0.1);
  EXPECT_LT(events.steps.back().loss, events.steps.front().loss - 0.3);
  EXPECT_EQ(events.saves, (std::vector<index>{0, 4, 6, 8, 12, 16, 18, 20}));
  ASSERT_EQ(events.evaluations.size(), 4U);
  EXPECT_EQ(events.evaluations[0].step, 6);
  EXPECT_EQ(events.evaluations[3].step, 20);
  EXPECT_LT(events.evaluations[3].val_loss, events.evaluations[0].val_loss);
  EXPECT_EQ(trainer.state().tokens_seen, 20 * 5 * 3 * 24);

  std::vector<index> kept;
  for (const CheckpointEntry& entry : list_checkpoints(run())) {
    kept.push_back(entry.step);
  }
  EXPECT_EQ(kept, (std::vector<index>{18, 20}));
  Config written = parse_config(contents(run() / "config.toml"), "config.toml");
  EXPECT_TRUE(written.model.vocab_size.is_open()) << "the tokenizer's is not pinned";
  resolve(written);
  written.model.vocab_size.derive(trainer.model().vocab_size());
  EXPECT_EQ(written, trainer.config());
}

TEST_F(Start, a_best_checkpoint_outlives_later_ones) {
  Config c = config();
  c.optim.schedule = Schedule::Kind::constant;
  c.train.max_steps = 12;
  c.train.keep_last = 1;
  TrainingEvents quiet;
  {
    Trainer::start(c, run()).run(quiet, never);
  }
  const index good = best_checkpoint(run())->step;
  Recorder events;  // steps of 1 in every weight destroy everything that was learned
  Trainer::resume(run(), {.overrides = {"optim.learning_rate=1", "train.max_steps=24"}}).run(events, never);
  ASSERT_EQ(events.evaluations.size(), 2U);
  EXPECT_GT(events.evaluations[0].val_loss, 4) << "the case is void: later checkpoints are not worse";
  EXPECT_EQ(best_checkpoint(run())->step, good);
  EXPECT_EQ(open_checkpoint(run(), CheckpointChoice::best).state().step, good);
  EXPECT_EQ(open_checkpoint(run()).state().step, 24);
  EXPECT_EQ(list_checkpoints(run()).size(), 2U);
}

TEST_F(Start, a_group_of_tensors_that_is_not_known_is_refused_if_it_is_required) {
  TrainingEvents quiet;
  {
    Trainer::start(config(), run()).run(quiet, never);
  }
  const std::filesystem::path file = open_checkpoint(run()).path();
  const std::string good = contents(file);
  const auto with_group = [&](bool required) {
    write_file(file, forged::with_index(good, [&](forged::Entries& entries) {
                 entries.push_back({required, "tensor", "ema/wte.weight", forged::tensor("f32", 4096, 0, {0})});
                 forged::sort(entries);
               }));
  };
  with_group(true);
  const std::string refusal =
      file.string() + " was written by a newer dikkat: it has tensor ema/wte.weight, which this version does not know";
  EXPECT_EQ(testing::error_of([&] { Trainer::resume(run(), {}); }), refusal);
  EXPECT_EQ(testing::error_of([&] { load_trained_model(run().string()); }), refusal);
  with_group(false);
  EXPECT_NO_THROW(Trainer::resume(run(), {}));
  EXPECT_NO_THROW(load_trained_model(run().string()));
}

TEST_F(Start, steps_at_the_rates_of_its_schedule) {
  for (const std::string_view name : Names<Schedule::Kind>::of) {
    const Schedule::Kind kind = *value_named<Schedule::Kind>(name);
    Config c = config();
    c.optim.schedule = kind;
    c.optim.warmup_steps = 1;
    c.train.max_steps = 3;
    c.train.batch_size = c.train.gradient_accumulation_steps = c.train.eval_tokens = 1;
    const Schedule expected{
        .kind = kind, .learning_rate = 1e-2, .min_lr = c.optim.min_lr, .warmup_steps = 1, .decay_steps = c.optim.decay_steps};
    Recorder events;
    Trainer::start(c, folder / std::string(name)).run(events, never);
    ASSERT_EQ(events.steps.size(), 3U);
    for (const StepReport& step : events.steps) {
      EXPECT_EQ(step.learning_rate, expected(step.step - 1)) << name << ", step " << step.step;
    }
  }
}

TEST_F(Start, takes_as_many_batches_as_its_schedule_gives) {
  Config c = config();
  c.train.accumulation_schedule = {"2:1", "5:4"};
  c.train.max_steps = 8;
  Recorder events;
  Trainer trainer = Trainer::start(c, run());
  trainer.run(events, never);
  std::vector<index> tokens;
  for (const StepReport& step : events.steps) {
    tokens.push_back(step.tokens);
    EXPECT_GT(step.optimizer_seconds, 0);
    EXPECT_LT(step.optimizer_seconds, step.seconds);
  }
  const index pass = 5 * 24;
  EXPECT_EQ(tokens, (std::vector<index>{3 * pass, 3 * pass, pass, pass, pass, 4 * pass, 4 * pass, 4 * pass}));
  EXPECT_EQ(trainer.state().samples_seen, 5 * (2 * 3 + 3 * 1 + 3 * 4));
  EXPECT_EQ(trainer.state().tokens_seen, 21 * pass);
}

TEST_F(Start, sums_its_lanes_by_a_tree) {
  const auto steps_with = [&](index lanes) {
    Config c = config();
    c.train.gradient_accumulation_steps = 8;
    c.train.max_steps = 3;
    c.train.lanes = lanes;
    Recorder events;
    Trainer::start(c, folder / concat("lanes-", lanes)).run(events, never);
    return events.steps;
  };
  const auto one = steps_with(1), four = steps_with(4);
  EXPECT_EQ(four[0].loss, one[0].loss) << "losses are added in the order of the passes";
  EXPECT_NE(four[0].gradient_norm, one[0].gradient_norm) << "the order of a sum shows in its last bits";
  EXPECT_NEAR(four[0].gradient_norm, one[0].gradient_norm, 1e-6);
  EXPECT_NEAR(four[2].loss, one[2].loss, 1e-5);
  Trainer plain = Trainer::plan(config());
  Config laned = config();
  laned.train.gradient_accumulation_steps = 8;
  laned.train.lanes = 8;
  EXPECT_EQ(Trainer::plan(laned).memory_plan().gradients, 4 * plain.memory_plan().gradients) << "one slab for each level of the tree";
}

TEST_F(Start, gives_the_optimizer_the_values_of_its_schedules) {
  const auto weights_after = [&](const char* name, auto&& change) {
    Config c = config();
    c.optim.kind = OptimizerKind::muon;
    c.optim.warmup_steps = 2;
    c.train.max_steps = 6;
    change(c.optim);
    resolve(c);
    TrainingEvents quiet;
    Trainer::start(c, folder / name).run(quiet, never);
    const auto trained = load_trained_model((folder / name).string(), {.choice = CheckpointChoice::newest});
    ParameterStore& store = trained.model->parameters();
    return std::vector<float>(store.weights<float>(), store.weights<float>() + store.slab_size());
  };
  const auto plain = weights_after("plain", [](OptimConfig&) {});
  EXPECT_NE(plain, weights_after("momentum", [](OptimConfig& o) { o.muon_momentum_start = 0.5; }));
  EXPECT_NE(plain, weights_after("momentum end", [](OptimConfig& o) { o.muon_momentum_end = 0.5; }));
  EXPECT_NE(plain, weights_after("decay", [](OptimConfig& o) { o.weight_decay_schedule = UpdateSchedule::WeightDecay::linear; }));
  EXPECT_NE(plain, weights_after("cautious", [](OptimConfig& o) { o.cautious_decay = true; }));
  EXPECT_NE(plain, weights_after("coefficients", [](OptimConfig& o) { o.muon_coefficients = MuonCoefficients::polar_express; }));
  EXPECT_NE(plain, weights_after("steps", [](OptimConfig& o) { o.muon_steps = 4; }));
  EXPECT_NE(plain, weights_after("normalize", [](OptimConfig& o) { o.muon_normalize = true; }));
  EXPECT_EQ(plain, weights_after("same", [](OptimConfig& o) { o.muon_momentum_start = 0.95, o.muon_steps = 5, o.sgd_momentum = 0.1; }));
}

TEST_F(Start, micro_batches_make_one_batch) {
  Config whole = config();
  whole.train.batch_size = 15;
  whole.train.gradient_accumulation_steps = 1;
  Recorder in_one;
  Recorder in_three;
  Trainer::start(whole, folder / "whole").run(in_one, never);
  Trainer::start(config(), folder / "pieces").run(in_three, never);
  EXPECT_NEAR(in_one.steps[0].loss, in_three.steps[0].loss, 1e-6);
  EXPECT_NEAR(in_one.steps[0].gradient_norm, in_three.steps[0].gradient_norm, 1e-5 * in_one.steps[0].gradient_norm);
  EXPECT_NEAR(in_one.steps[10].loss, in_three.steps[10].loss, 1e-4);
}

TEST_F(Start, a_loss_that_is_not_finite_ends_the_run_before_it_is_applied) {
  Config c = config();
  c.optim.learning_rate = 1;
  c.train.max_steps = 8;
  Trainer trainer = Trainer::start(c, run());
  TrainingEvents quiet;
  EXPECT_EQ(trainer.run(quiet, after(4)), Trainer::Outcome::stopped);
  auto& weights = const_cast<ParameterStore&>(trainer.model().parameters());
  auto& entry = weights.entry("h.1.mlp.c_fc.weight");
  static_cast<float*>(entry.record.data)[3] = std::numeric_limits<float>::quiet_NaN();
  const std::string before = contents(checkpoint_directory(run()) / checkpoint_name(5));
  try {
    trainer.run(quiet, never);
    FAIL() << "continued with NaN";
  } catch (const InputError&) {
    FAIL() << "NaN is a failure, not bad input";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_TRUE(names(text, {"step 6", "weight h.1.mlp.c_fc.weight", "finite", checkpoint_name(5)}));
  }
  EXPECT_EQ(contents(checkpoint_directory(run()) / checkpoint_name(5)), before);
  EXPECT_EQ(open_checkpoint(run()).state().step, 5);
}

TEST_F(Start, refuses_texts_that_it_cannot_train_on_and_writes_nothing) {
  Config c = config();
  c.data.corpus.clear();
  expect_refused(c, "--corpus");
  c = config();
  c.model.block_size = 100000;
  c.data.window = 100000;
  expect_refused(c, "block_size");
  c = config();
  c.model.vocab_size = 3;
  expect_refused(c, "vocab_size");
  write_file(folder / "latin1.txt", "caf\xe9 au lait");
  c.data.corpus = {(folder / "latin1.txt").string()};
  c.model.vocab_size = {};
  expect_refused(c, "byte 3");
}

TEST_F(Start, reports_what_it_is_loading_and_what_it_leaves_out) {
  std::filesystem::create_directories(folder / "texts");
  std::string numbers;  // with enough pairs for 600 tokens
  for (int i = 0; i < 3000; ++i) {
    numbers += std::to_string(i * 7919 % 1000) + ' ';
  }
  write_file(folder / "texts" / "a.txt", numbers);
  write_file(folder / "texts" / "b.png", "no text");
  Config c = tiny_config(folder / "texts");
  c.tokenizer.kind = "bpe";
  c.tokenizer.vocab_size = 600;
  std::set<LoadingReport::Stage> stages;
  const TrainingData data = load_training_data(ResolvedConfig(c), nullptr, [&](const LoadingReport& r) { stages.insert(r.stage); });
  using Stage = LoadingReport::Stage;
  EXPECT_EQ(stages, (std::set{Stage::reading, Stage::learning, Stage::tokenizing}));
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_TRUE(names(data.notes[0], {".png"}));
  EXPECT_EQ(load_training_data(ResolvedConfig(c)).fingerprint, data.fingerprint) << "without anybody who listens";
}

TEST_F(Start, refuses_a_folder_that_is_in_use) {
  std::filesystem::create_directories(run());
  write_file(run() / "precious.txt", "mine");
  EXPECT_THROW(Trainer::start(config(), run()), InputError);
  EXPECT_EQ(contents(run() / "precious.txt"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run()), {}), 1);
}

TEST_F(Start, trains_without_a_validation_part) {
  Config c = config();
  c.data.val_fraction = 0;
  Recorder events;
  EXPECT_EQ(Trainer::start(c, run()).run(events, never), Trainer::Outcome::finished);
  EXPECT_TRUE(events.evaluations.empty());
}

TEST_F(Start, an_evaluation_measures_as_many_tokens_as_configured) {
  for (const auto& [tokens, samples] : std::vector<std::pair<index, index>>{{1, 1}, {24, 2}, {60, 3}, {0, 0}, {1'000'000, 0}}) {
    Config c = config();
    c.train.eval_tokens = tokens;
    c.train.max_steps = 2;
    Recorder events;
    Trainer trainer = Trainer::start(c, folder / std::to_string(tokens));
    trainer.run(events, never);
    ASSERT_EQ(events.evaluations.size(), 1U);
    LanguageScorer scorer(trainer.model());
    Evaluator evaluator(scorer);
    const SampleChoice choice{.count = samples, .seed = trainer.state().seed, .draw = 2};
    EXPECT_EQ(events.evaluations[0].val_loss, evaluator(*trainer.data().sources.front().validation->evaluation(), choice)->loss) << tokens;
  }
}

TEST_F(Start, from_a_checkpoint_begins_with_an_evaluation_that_a_resumed_run_makes_up_for) {
  TrainingEvents quiet;
  {
    Trainer::start(config(), folder / "source").run(quiet, never);
  }
  Config c = config();
  c.train.init_from = (folder / "source").string();
  c.train.eval_tokens = 0;
  {
    Trainer trainer = Trainer::start(c, run());
    EXPECT_EQ(trainer.run(quiet, after(0)), Trainer::Outcome::stopped) << "in the evaluation";
    EXPECT_EQ(trainer.state().step, 0);
  }
  Recorder events;
  Trainer trainer = Trainer::resume(run(), {});
  trainer.run(events, never);
  ASSERT_EQ(events.evaluations.size(), 5U);
  EXPECT_EQ(events.evaluations[0].step, 0);
  Recorder undisturbed;
  Trainer::start(c, folder / "undisturbed").run(undisturbed, never);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(events.evaluations[i].val_loss, undisturbed.evaluations[i].val_loss) << i;
  }
}

TEST_F(Start, ends_early_when_its_patience_is_over_and_continues_with_more) {
  Config c = config();
  c.optim.learning_rate = 1e-30;  // too little to change a weight, so no evaluation is better than the first, on any processor
  c.optim.warmup_steps = 0;
  c.optim.schedule = Schedule::Kind::constant;
  c.train.eval_tokens = 0;
  c.train.eval_interval = 2;
  c.train.patience = 3;
  Recorder events;
  index best = 0;
  {
    Trainer trainer = Trainer::start(c, run());
    EXPECT_EQ(trainer.run(events, never), Trainer::Outcome::finished);
    best = trainer.state().best_step;
    EXPECT_EQ(best, 2);
    EXPECT_EQ(trainer.state().step, best + 6) << "three evaluations later";
    EXPECT_LT(trainer.state().step, c.train.max_steps);
    EXPECT_TRUE(trainer.finished());
  }
  for (const EvaluationReport& report : events.evaluations) {
    EXPECT_GE(report.val_loss, events.evaluations[static_cast<std::size_t>(best / 2 - 1)].val_loss);
  }
  EXPECT_EQ(events.saves.back(), best + 6) << "the last step is saved";
  EXPECT_TRUE(Trainer::resume(run(), {}).finished());
  Trainer more = Trainer::resume(run(), {.overrides = {"train.patience=4"}});
  EXPECT_FALSE(more.finished());
  more.run(events, never);
  EXPECT_EQ(more.state().step, best + 8);
}

TEST_F(Start, takes_a_model_that_a_program_has_saved) {
  TrainingEvents quiet;
  Config other = config();
  other.model.n_hidden = 24;
  other.model.activation = Activation::relu;
  {
    Trainer::start(other, folder / "source").run(quiet, never);
  }
  TrainedModel trained = load_trained_model(folder / "source");
  float* const weights = trained.model->parameters().weights<float>();
  std::for_each(weights, weights + trained.model->parameters().slab_size(), [](float& w) { w *= 0.5F; });
  const SavedCheckpoint saved = save_model(folder / "mine", *trained.model, *trained.tokenizer, trained.config);
  Config c = config();
  c.train.init_from = saved.path().string();
  c.train.eval_tokens = 0;
  Recorder events;
  Trainer::start(c, run()).run(events, never);
  LanguageScorer scorer(*trained.model);
  Evaluator evaluator(scorer);
  const Trainer again = Trainer::resume(run(), {});
  EXPECT_EQ(again.config().model.n_hidden, 24) << "keys that are not set are inherited";
  EXPECT_EQ(again.config().model.activation, Activation::relu);
  EXPECT_EQ(events.evaluations.front().val_loss,
            evaluator(*again.data().sources.front().validation->evaluation(), {.seed = 1337, .draw = 0})->loss);
}

TEST_F(Start, a_larger_vocabulary_than_the_tokenizers_is_padding) {
  Config c = config();
  c.model.vocab_size = 64;
  Recorder events;
  Trainer trainer = Trainer::start(c, run());
  trainer.run(events, never);
  EXPECT_EQ(trainer.model().vocab_size(), 64);
  EXPECT_NEAR(events.steps.front().loss, std::log(64.0), 0.1);
}

}  // namespace
}  // namespace dikkat
