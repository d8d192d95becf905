#include "train/web/serve/stream_plan.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"
#include "train/sample/prompt_cache.h"

namespace dikkat::serve {
namespace {

constexpr std::size_t kMega = 1'000'000;
constexpr StreamNeeds kNeeds{.weights = 500 * kMega, .stream = 100 * kMega, .shared = 20 * kMega, .chunk = 10 * kMega, .context = 1280};

TEST(StreamPlan, FollowsFromTheFreeMemory) {
  struct {
    std::size_t free;
    index streams, positions;
  } cases[] = {{120 * kMega, 1, 0},          // nothing is left for prompts
               {150 * kMega, 1, 3 * 128},    // the rest
               {500 * kMega, 2, 12 * 128},   // a half, and a quarter
               {1300 * kMega, 6, 32 * 128},  // 6.3 streams would fit into a half
               {9000 * kMega, 8, 82 * 128},  // not more
               {kNoLimit, 8, 82 * 128}};
  for (const auto& one : cases) {
    const StreamPlan plan = plan_streams(kNeeds, {}, one.free);
    EXPECT_EQ(plan.streams, one.streams) << one.free;
    EXPECT_EQ(plan.prompt_positions, one.positions) << one.free;
    EXPECT_EQ(plan.all_streams(), 20 * kMega + static_cast<std::size_t>(one.streams) * 100 * kMega);
    EXPECT_EQ(plan.prompts(), static_cast<std::size_t>(one.positions / 128) * 10 * kMega);
    EXPECT_LE(plan.to_come(), one.free);
  }
}

TEST(StreamPlan, HonorsWishesThatFit) {
  const StreamPlan plan = plan_streams(kNeeds, {.streams = 9, .prompts = 75 * kMega}, 990 * kMega);
  EXPECT_EQ(plan.streams, 9);
  EXPECT_EQ(plan.prompt_positions, 7 * 128) << "whole chunks";
  EXPECT_EQ(plan.to_come(), 990 * kMega);
  EXPECT_EQ(plan_streams(kNeeds, {.prompts = 0}, kNoLimit).prompts(), 0U);
  EXPECT_EQ(plan_streams(kNeeds, {.streams = 1000}, kNoLimit).streams, 1000);
}

TEST(StreamPlan, RefusesWhatDoesNotFit) {
  const auto error = [](const StreamWishes& wishes, std::size_t free) {
    return testing::error_of([&] { plan_streams(kNeeds, wishes, free); });
  };
  EXPECT_TRUE(
      testing::names(error({.streams = 9, .prompts = 75 * kMega}, 989 * kMega), {"9 streams", "990.0 MB", "989.0 MB", "--parallel 8"}));
  EXPECT_TRUE(testing::names(error({.streams = 4}, 130 * kMega), {"4 streams", "420.0 MB", "--parallel 1"}));
  EXPECT_TRUE(testing::names(error({}, 119 * kMega), {"1 stream", "120.0 MB", "119.0 MB", "--cache bf16", "--weights q8"}));
  EXPECT_TRUE(testing::names(error({.prompts = 500 * kMega}, 400 * kMega), {"--prompt-cache", "500.0 MB"}));
  EXPECT_TRUE(testing::names(error({.streams = 1}, 0), {"1 stream"}));
}

TEST(StreamPlan, NeedsWhatKeysAndValuesTake) {
  const SmallModel model(400);
  const StreamNeeds needs = stream_needs(model.gpt.config(), 77, DType::f32), half = stream_needs(model.gpt.config(), 77, DType::bf16);
  constexpr std::size_t kPosition = 2 * 16 * sizeof(float);  // one layer with keys and values of 16 numbers
  EXPECT_EQ(needs.weights, 77U);
  EXPECT_EQ(needs.context, 400);
  const auto scores = [&](index positions) { return PromptScores::bytes(model.gpt.config(), positions, 1); };
  EXPECT_GE(needs.stream, 400 * kPosition + scores(400));
  EXPECT_LE(needs.stream, 400 * kPosition + scores(400) + 20'000) << "and logits";
  EXPECT_EQ(needs.chunk, 128 * kPosition + scores(128));
  EXPECT_EQ(needs.stream - half.stream, 200 * kPosition);
}

TEST(FreeMemory, IsWhatMayBeTaken) {
  EXPECT_EQ(free_memory({.total = 100, .available = 60}, {.resident = 5, .address_space = 30}), 60U);
  EXPECT_EQ(free_memory({.available = 60, .address_space = 80}, {.address_space = 30}), 50U) << "ulimit -v";
  EXPECT_EQ(free_memory({.available = 60, .address_space = 80}, {.address_space = 90}), 0U);
  EXPECT_EQ(free_memory({}, {.address_space = 30}), kNoLimit);
}

}  // namespace
}  // namespace dikkat::serve
