#include "tests/train/cli/limited_memory.h"

namespace dikkat::testing {
namespace {

constexpr std::size_t kMega = 1'000'000;

TEST(LimitedMemory, EndsInAMessageOrInAGoodRun) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizer maps terabytes";
  }
  const Workspace workspace;
  EXPECT_FALSE(train_within(workspace, 80 * kMega));
  for (const std::size_t megabytes : {100U, 140U, 180U, 220U, 260U}) {
    train_within(workspace, megabytes * kMega);
  }
  EXPECT_TRUE(train_within(workspace, 2000 * kMega));
}

TEST(Plan, ReportsTheMemoryAndTimeOfTrainingAndWritesNothing) {
  const Workspace workspace;
  const auto before = workspace.tree();
  const Outcome outcome = workspace.run({"plan", "--config", "tiny.toml", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  EXPECT_EQ(workspace.tree(), before);
  std::size_t sum = 0;
  for (const auto& [name, bytes] : plan["memory"].items()) {
    sum += bytes.get<std::size_t>();
  }
  EXPECT_LE(sum, plan["peak"].get<std::size_t>());
  EXPECT_EQ(plan["disk"]["total"].get<std::size_t>(),
            plan["disk"]["checkpoint"].get<std::size_t>() * plan["disk"]["checkpoints"].get<std::size_t>() +
                plan["disk"]["metrics"].get<std::size_t>());
  EXPECT_GT(plan["trial"]["tokens_per_s"].get<double>(), 0);
  expect_named(workspace.run({"plan", "--config", "tiny.toml"}).out, {" 3 steps"});
}

TEST(Plan, ReportsTheMemoryOfEachRank) {
  const Workspace workspace;
  const Words four = {"plan", "--config", "tiny.toml", "--ranks", "4", "--set", "train.gradient_accumulation_steps=4"};
  Words as_json = four;
  as_json.emplace_back("--json");
  const Outcome outcome = workspace.run(as_json);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  const Json ranks = plan["ranks"];
  ASSERT_EQ(ranks.size(), 2U) << ranks.dump();
  EXPECT_EQ(ranks[0]["ranks"], 2);
  EXPECT_EQ(ranks[1]["ranks"], 4);
  const auto weights = plan["memory"]["weights"].get<std::size_t>();
  EXPECT_EQ(ranks[0]["memory"].get<std::size_t>(), 4 * weights) << "two slabs of gradients, and half of two moments";
  EXPECT_EQ(ranks[1]["memory"].get<std::size_t>(), 5 * weights / 2) << "one slab of gradients, and a quarter of two moments";
  expect_named(workspace.run(four).out, {"\n  2 ranks", "\n  4 ranks"});
}

TEST(Plan, IsWithinATenthOfTheMeasuredPeak) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizer's own memory is the larger part";
  }
  const Workspace workspace;
  const Words cases[] = {
      {"model.n_embd=256", "model.n_layer=4"},
      {"model.n_embd=384", "model.n_layer=6", "train.async_save=false"},
      {"train.batch_size=32", "model.block_size=256", "model.n_layer=4", "model.n_embd=64"},
      {"train.batch_size=32", "model.block_size=256", "model.n_layer=4", "model.n_embd=64", "train.recompute=block"},
  };
  for (const Words& settings : cases) {
    Words arguments = {"plan", "--config", "tiny.toml", "--json"};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    const Outcome outcome = workspace.run(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json trial = Json::parse(outcome.out)["trial"];
    const double share = trial["planned_peak"].get<double>() / trial["measured_peak"].get<double>();
    EXPECT_NEAR(share, 1, 0.1) << settings.back() << " " << trial.dump();
  }
}

}  // namespace
}  // namespace dikkat::testing
