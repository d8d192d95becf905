#include "train/assistant/plan.h"

#include <fstream>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

constexpr index kMegabyte = 1'000'000;

TEST(AssistantPlan, LargerTextsHaveLargerVocabularies) {
  EXPECT_EQ(vocabulary_for(131'492), 512);
  EXPECT_EQ(vocabulary_for(25 * kMegabyte), 4096);
  EXPECT_EQ(vocabulary_for(1000 * kMegabyte), 8192);
}

TEST(AssistantPlan, ModelsGrowWithTheTime) {
  constexpr double kRate = 4e11;
  index before = 0;
  for (const double seconds : {10.0, 300.0, 3600.0, 36000.0}) {
    const AssistantSize size = size_for(seconds, kRate, 8192, 1000 * kMegabyte);
    const index parameters = size.parameters(8192);
    EXPECT_EQ(size.n_embd % size.n_head, 0);
    EXPECT_GT(parameters, before) << seconds;
    // A step of training takes 6 operations for each parameter, and those of attention.
    EXPECT_GT(size.flops_per_token(8192), 6.0 * static_cast<double>(parameters));
    if (before > 0) {
      EXPECT_GE(seconds * kRate / size.flops_per_token(8192), 8.0 * static_cast<double>(parameters)) << seconds;
    }
    before = parameters;
  }
  EXPECT_GT(before, 9 * kMegabyte);
}

TEST(AssistantPlan, ModelsStaySmallForASmallText) {
  for (const index bytes : {index{20'000}, index{131'492}, kMegabyte}) {
    EXPECT_LE(size_for(1e9, 1e12, 512, bytes).parameters(512), std::max<index>(4 * bytes, 150'000)) << bytes;
  }
  EXPECT_GT(size_for(1e9, 1e12, 512, kMegabyte).n_embd, size_for(1e9, 1e12, 512, 131'492).n_embd);
}

TEST(AssistantPlan, StagesFillTheTime) {
  const StageCost pretrain{.step_seconds = 0.25}, chats{.step_seconds = 0.25, .epoch_steps = 8},
      pairs{.step_seconds = 0.1, .epoch_steps = 20};
  const auto seconds_of = [&](const StageSteps& steps) {
    return 0.25 * static_cast<double>(steps.pretrain + steps.chats) + 0.1 * static_cast<double>(steps.preferences);
  };
  for (const double seconds : {30.0, 300.0, 3600.0}) {
    const StageSteps steps = share_time(seconds, pretrain, chats, pairs);
    EXPECT_NEAR(seconds_of(steps), seconds, 0.5) << "up to a step of each stage";
    EXPECT_GT(steps.pretrain, steps.chats);
  }
  const StageSteps hour = share_time(3600, pretrain, chats, pairs);
  EXPECT_EQ(hour.chats, 20 * 8) << "few chats are read at most 20 times";
  EXPECT_EQ(hour.preferences, 3 * 20);
  EXPECT_EQ(share_time(3600, pretrain, chats, {}).preferences, 0);
}

TEST(AssistantPlan, ManyChatsGetAThird) {
  const StageSteps steps = share_time(3600, {.step_seconds = 1}, {.step_seconds = 1, .epoch_steps = 1e6}, {});
  EXPECT_EQ(steps.chats, 1200);
  EXPECT_EQ(steps.pretrain, 2400);
}

TEST(AssistantPlan, ATrainedModelNeedsNoPretraining) {
  const StageSteps both = share_time(3600, {}, {.step_seconds = 1, .epoch_steps = 1e6}, {.step_seconds = 1, .epoch_steps = 1e6});
  EXPECT_EQ(both.pretrain, 0);
  EXPECT_EQ(both.preferences, 450);
  EXPECT_EQ(both.chats, 3150);
  EXPECT_EQ(share_time(3600, {}, {}, {.step_seconds = 1, .epoch_steps = 1e6}).preferences, 3600);
}

TEST(AssistantPlan, RefusesATimeThatIsTooShort) {
  EXPECT_THROW(share_time(10, {.step_seconds = 1}, {.step_seconds = 1, .epoch_steps = 100}, {}), InputError);
  EXPECT_THROW(share_time(1, {}, {.step_seconds = 1, .epoch_steps = 1}, {}), InputError);
  const std::string message = testing::error_of([] { share_time(0.5, {}, {.step_seconds = 0.09806640468, .epoch_steps = 1}, {}); });
  EXPECT_TRUE(testing::names(message, {" 0.098 seconds"}));
}

TEST(AssistantPlan, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  AssistantPlan plan{
      .corpus = {"/texts"}, .chats = "/chats.jsonl", .name = "Ada", .seconds = 90.5, .table = "pretrain\n", .longest_question = 224};
  plan.stages = {{.name = "pretrain",
                  .corpus = {"/texts"},
                  .settings = {"train.max_steps=7"},
                  .steps = 7,
                  .seconds = 3,
                  .took = 2.5,
                  .done = true,
                  .tasks = R"({"choices":{"right":3}})"},
                 {.name = "chats", .corpus = {"chats.jsonl"}, .from = "pretrain", .steps = 9}};
  EXPECT_FALSE(is_assistant(folder.path()));
  write_plan(folder.path(), plan);
  EXPECT_TRUE(is_assistant(folder.path()));
  const AssistantPlan read = read_plan(folder.path());
  EXPECT_EQ(plan_as_json(read), plan_as_json(plan));
  EXPECT_EQ(read.stages.at(0).tasks, plan.stages.at(0).tasks);
  EXPECT_EQ(read.stages.at(1).from, "pretrain");
  for (const char* damaged : {"", "[]", "{}", R"({"format":2})", R"({"format":1,"corpus":[]})"}) {
    std::ofstream(assistant_file(folder.path())) << damaged;
    EXPECT_THROW(read_plan(folder.path()), InputError) << damaged;
  }
}

}  // namespace
}  // namespace dikkat
