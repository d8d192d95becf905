#include "train/assistant/planner.h"

#include <iterator>
#include <tuple>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"
#include "train/assistant/assumptions.h"

namespace dikkat::assistant {
namespace {

/// A machine of a given speed, and a text of a given length.
class FakeMachine : public Measure {
 public:
  double products = 1e12, training = 4e11;  // FLOP/s
  index tokens = 1'000'000;
  std::string objection{};
  std::vector<StageRun> tried{}, checked{};

  double product_rate() override { return products; }
  StageTrial try_stage(const StageRun& run, const std::string& sample) override {
    tried.push_back(run);
    Config config;
    for (const ConfigEdit& edit : run.edits) {
      edit.apply(config);
    }
    const Size size{.n_layer = config.model.n_layer,
                    .n_embd = config.model.n_embd,
                    .block_size = config.model.block_size,
                    .batch_size = config.train.batch_size};
    return {.step_seconds = size.flops_per_token(4096) * size.step_tokens() / training,
            .evaluation_seconds = 0.5,
            .loading_seconds = 2,
            .epoch_windows = 400,
            .tokens = tokens,
            .vocab_size = 4096,
            .bytes_per_token = sample.empty() ? 1.0 : 4.0,
            .tokenizer = "{}"};
  }
  std::string objection_to(const StageRun& run, const std::string&) override {
    checked.push_back(run);
    return objection;
  }
  double seconds() override { return 5; }
};

/// An hour for 25 MB of text, 500 chats and 1,000 pairs.
class AssistantPlanner : public ::testing::Test {
 protected:
  Wishes wishes{.corpus = {"/books"}, .chats = "/chats.jsonl", .pairs = "/pairs.jsonl", .name = "Ada", .seconds = 3600};
  Facts facts{.precision = Precision::bf16,
              .bytes = 25'000'000,
              .chats = {.path = "/chats.jsonl",
                        .learned = "{}\n",
                        .held_out = "{}\n",
                        .questions = std::vector<Asked>(50, {.prompt = "What is it?", .answer = "A lamp."}),
                        .conversations = 500,
                        .bytes = 60'000,
                        .messages = 1000},
              .pairs = {.examples = 1000, .bytes = 200'000, .are_pairs = true}};
  FakeMachine machine{};

  PlanOutline plan() { return make_plan(wishes, facts, machine); }

  /// Makes it a plan for a trained model.
  void begin_with(index n_layer, index n_embd) {
    wishes.corpus.clear();
    wishes.from = "/model";
    TransformerConfig model;
    model.n_layer = n_layer;
    model.n_embd = n_embd;
    model.block_size = 2048;
    model.positions = Positions::rope;
    facts.model = model;
  }

  /// Returns the settings in assistant.json, on one line.
  static std::string settings_of(const Stage& stage) {
    std::string settings;
    for (const ConfigEdit& edit : stage.edits) {
      settings += concat(settings.empty() ? "" : " ", edit.assignment());
    }
    return settings;
  }
  static bool has(const Stage& stage, const std::string& setting) {
    return concat(' ', settings_of(stage), ' ').find(concat(' ', setting, ' ')) != std::string::npos;
  }
};

TEST_F(AssistantPlanner, FillsTheTimeWithThreeStages) {
  const auto [plan, figures] = this->plan();
  ASSERT_EQ(plan.stages.size(), 3);
  for (const StageKind kind : {StageKind::pretrain, StageKind::chats, StageKind::preferences}) {
    ASSERT_NE(plan.find(kind), nullptr);
    EXPECT_GE(static_cast<double>(plan.find(kind)->steps), kFewestStageSteps);
  }
  EXPECT_EQ(plan.find(StageKind::chats)->after, StageKind::pretrain);
  EXPECT_EQ(plan.find(StageKind::preferences)->after, StageKind::chats);
  EXPECT_LT(figures.expected_seconds(plan), wishes.seconds);
  EXPECT_GT(figures.expected_seconds(plan), (1 - 1.5 * kEndShare) * wishes.seconds);
  EXPECT_EQ(figures.asked, 50);
  EXPECT_EQ(plan.tasks, kTasks);
  EXPECT_EQ(plan.longest_question, figures.size.block_size - kQuestionMarkup);
  EXPECT_EQ(machine.checked.size(), 2) << "chats and pairs must be learnable";
}

TEST_F(AssistantPlanner, IsAFunctionOfWhatIsMeasured) { EXPECT_EQ(plan_as_json(plan().plan), plan_as_json(plan().plan)); }

TEST_F(AssistantPlanner, StoresTheSettingsOfEarlierVersions) {
  const auto [plan, figures] = this->plan();
  const char* const kinds[] = {
      "model.bias=false model.norm=rms_norm model.norm_eps=1e-6 model.activation=silu model.gated=true model.positions=rope "
      "model.qk_norm=true tokenizer.kind=bpe optim.kind=muon optim.muon_coefficients=turbo optim.muon_normalize=true optim.schedule=wsd "
      "optim.decay_share=0.8 optim.min_lr_share=0 optim.beta1=0.8 optim.beta2=0.95 train.eval_tokens=65536 model.n_layer=4 "
      "model.n_embd=256 model.n_head=4 model.block_size=1024 model.dropout=0.1 tokenizer.vocab_size=4096 optim.learning_rate=0.006 "
      "optim.weight_decay=0.8 train.batch_size=4 train.precision=bf16 ",
      "optim.schedule=linear optim.min_lr=0 optim.weight_decay=0 optim.beta2=0.99 train.eval_tokens=65536 train.precision=bf16 "
      "optim.learning_rate=0.001 train.batch_size=4 data.validation=held-out.jsonl ",
      "optim.schedule=linear optim.min_lr=0 optim.weight_decay=0 optim.beta2=0.99 train.eval_tokens=65536 train.precision=bf16 "
      "preference.method=auto optim.learning_rate=2e-05 train.batch_size=1 "};
  ASSERT_EQ(plan.stages.size(), std::size(kinds));
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    const index steps = plan.stages[i].steps;
    EXPECT_EQ(settings_of(plan.stages[i]),
              concat(kinds[i], "train.max_steps=", steps, " optim.warmup_steps=", steps / 20, " train.eval_interval=", ceil_div(steps, 8),
                     " train.checkpoint_interval=", ceil_div(steps, 20)));
  }
}

TEST_F(AssistantPlanner, TriesAnotherSizeIfTheMachineIsSlowerThanItsProducts) {
  facts.bytes = 100'000'000;
  machine.tokens = 30'000'000;
  const Size expected = plan().figures.size;
  EXPECT_EQ(machine.tried.size(), 1);
  machine.tried.clear();
  machine.products *= 20;
  EXPECT_EQ(plan().figures.size, expected);
  EXPECT_EQ(machine.tried.size(), 2);
}

TEST_F(AssistantPlanner, ATextThatIsReadOftenGetsDropoutAndMoreDecay) {
  for (const auto& [tokens, dropout, decay] : {std::tuple(index{100'000'000}, "model.dropout=0", "optim.weight_decay=0.4"),
                                               {index{1'000'000}, "model.dropout=0.1", "optim.weight_decay=0.8"}}) {
    machine.tokens = tokens;
    const auto [plan, figures] = this->plan();
    EXPECT_TRUE(has(plan.stages[0], dropout) && has(plan.stages[0], decay)) << tokens;
    EXPECT_EQ(figures.pretrain_epochs > kOftenEpochs, tokens < 100'000'000);
  }
  // Copies are not counted.
  const double epochs = plan().figures.pretrain_epochs;
  facts.repeats = 0.5;
  machine.tokens *= 2;
  EXPECT_NEAR(plan().figures.pretrain_epochs, epochs, 0.01 * epochs);
}

TEST_F(AssistantPlanner, FewChatsAreAllLearned) {
  facts.chats.held_out.clear();
  facts.chats.questions.clear();
  const auto [plan, figures] = this->plan();
  EXPECT_FALSE(has(*plan.find(StageKind::chats), "data.validation=held-out.jsonl"));
  EXPECT_EQ(plan.tasks, "");
  EXPECT_EQ(figures.question_seconds, 0);
}

TEST_F(AssistantPlanner, LearnsThePairsForWhichThereIsTime) {
  EXPECT_EQ(plan().plan.learned_pairs, 1000);
  facts.pairs = {.examples = 1'000'000, .bytes = 200'000'000, .are_pairs = true};
  const Plan many = plan().plan;
  EXPECT_LT(many.learned_pairs, 1'000'000);
  EXPECT_GT(many.learned_pairs, 1000);
  EXPECT_LT(many.stages[2].seconds, kPreferenceShare * wishes.seconds);
}

TEST_F(AssistantPlanner, ATrainedModelIsNotPretrained) {
  begin_with(6, 320);
  const auto [plan, figures] = this->plan();
  ASSERT_EQ(plan.stages.size(), 2);
  EXPECT_EQ(plan.stages[0].kind, StageKind::chats);
  EXPECT_EQ(plan.stages[0].after, std::nullopt);
  EXPECT_EQ(plan.origin_of(plan.stages[0]), "/model");
  EXPECT_EQ(plan.stages[1].after, StageKind::chats);
  EXPECT_TRUE(has(plan.stages[0], "data.window=512"));
  EXPECT_FALSE(has(plan.stages[0], "lora.rank=16"));
  ASSERT_EQ(machine.tried.size(), 2);
  EXPECT_EQ(machine.tried[0].init_from, "/model");
  EXPECT_EQ(machine.tried[1].corpus, std::vector<std::string>{"/pairs.jsonl"});
}

TEST_F(AssistantPlanner, ALargeModelGetsAdapters) {
  begin_with(24, 1024);
  const Plan plan = this->plan().plan;
  EXPECT_TRUE(has(plan.stages[0], "lora.rank=16") && has(plan.stages[0], "optim.learning_rate=0.0005"));
  EXPECT_TRUE(has(plan.stages[1], "lora.rank=16") && has(plan.stages[1], "optim.learning_rate=5e-05"));
}

TEST_F(AssistantPlanner, ATrainedModelMayLearnOnlyPairs) {
  begin_with(6, 320);
  wishes.chats.clear();
  facts.chats = {};
  const Plan plan = this->plan().plan;
  ASSERT_EQ(plan.stages.size(), 1);
  EXPECT_EQ(plan.stages[0].kind, StageKind::preferences);
  EXPECT_EQ(plan.origin_of(plan.stages[0]), "/model");
  EXPECT_EQ(plan.longest_question, 0);
}

TEST_F(AssistantPlanner, RefusesWhatALaterStageCannotLearn) {
  machine.objection = "no example fits; raise data.window";
  const std::string message = testing::error_of<InputError>([&] { plan(); });
  EXPECT_TRUE(testing::names(message, {"--chats", "/chats.jsonl", "no example fits"}));
  EXPECT_EQ(message.find("data.window"), std::string::npos) << "the command has no such key";
}

TEST_F(AssistantPlanner, RefusesATimeThatReadingTakes) {
  wishes.seconds = 8;
  EXPECT_TRUE(testing::names(testing::error_of<InputError>([&] { plan(); }), {"--time", "0:08"}));
}

}  // namespace
}  // namespace dikkat::assistant
