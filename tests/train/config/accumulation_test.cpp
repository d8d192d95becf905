#include "train/config/accumulation.h"

#include "tests/support/throws.h"
#include "tests/train/config/support.h"
#include "train/config/override.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TrainConfig with(std::vector<std::string> schedule, index count = 3) {
  TrainConfig config;
  config.gradient_accumulation_steps = count;
  config.max_steps = 1000;
  config.accumulation_schedule = std::move(schedule);
  return config;
}

TEST(Accumulation, IsOneNumberByDefault) {
  const Accumulation passes(with({}));
  for (const index step : {0, 1, 500, 999'999'999}) {
    EXPECT_EQ(passes(step), 3);
  }
  EXPECT_EQ(passes.passes(10, 14), 12);
  EXPECT_EQ(passes.fewest(), 3);
  EXPECT_EQ(passes.most(), 3);
}

TEST(Accumulation, ChangesAtItsSteps) {
  const Accumulation passes(with({"400:2", "800:4"}));
  for (const auto& [step, count] : std::vector<std::pair<index, index>>{{0, 3}, {399, 3}, {400, 2}, {799, 2}, {800, 4}, {5000, 4}}) {
    EXPECT_EQ(passes(step), count) << step;
  }
  EXPECT_EQ(passes.fewest(), 2);
  EXPECT_EQ(passes.most(), 4);
  for (const index from : {0, 1, 399, 400, 401, 900}) {
    index sum = 0;
    for (index to = from; to < 1000; ++to) {
      ASSERT_EQ(passes.passes(from, to), sum) << from << ' ' << to;
      sum += passes(to);
    }
  }
  EXPECT_EQ(Accumulation(with({"0:5", "10:1"}))(0), 5);
  EXPECT_EQ(Accumulation(with({"0:5", "10:1"})).most(), 5) << "gradient_accumulation_steps is never used";
  EXPECT_EQ(Accumulation(with({"1000:9"})).most(), 3) << "after the end of the run";
}

TEST(Accumulation, IsDividedByItsLanes) {
  const auto problem = [](index lanes, std::vector<std::string> schedule = {}) {
    TrainConfig config = with(std::move(schedule), 12);
    config.lanes = lanes;
    return problem_with_lanes(config);
  };
  EXPECT_EQ(problem(1), "");
  EXPECT_EQ(problem(4), "");
  EXPECT_TRUE(names(problem(3), {"train.lanes", "3", "2", "4"}));
  EXPECT_TRUE(names(problem(8), {"train.lanes", "8", "train.gradient_accumulation_steps", "12"}));
  EXPECT_TRUE(names(problem(4, {"400:16", "500:6"}), {"train.lanes", "4", "train.accumulation_schedule", "6"}));
  Config config;
  config.train.lanes = 2;
  EXPECT_TRUE(names(error_of([&] { validate(config); }), {"train.lanes", "2", "train.gradient_accumulation_steps", "1"}));
}

TEST(Accumulation, IsReadFromTextOrRefusedWithAMessage) {
  for (const char* bad : {"400", "400:", ":2", "x:2", "400:2x", "-1:2", "400:0", "400:-1", "400: 2", "400:2000000", "", "1e3:2"}) {
    EXPECT_TRUE(names(problem_with_accumulation(with({bad})), {"train.accumulation_schedule", schema::in_quotes(bad), "STEP:COUNT"}));
  }
  EXPECT_TRUE(names(problem_with_accumulation(with({"400:2", "400:3"})), {"train.accumulation_schedule", "step 400"}));
  EXPECT_EQ(problem_with_accumulation(with({"400:2", "800:4"})), "");
  Config config;
  apply_override(config, "train.accumulation_schedule=400:2, 800:4");
  EXPECT_EQ(config.train.accumulation_schedule, (std::vector<std::string>{"400:2", "800:4"}));
  EXPECT_NO_THROW(validate(config));
  config.train.accumulation_schedule = {"40:2", "4:2"};
  EXPECT_TRUE(names(error_of([&] { validate(config); }), {"train.accumulation_schedule", "40", "4"}));
  config.train.accumulation_schedule = {"40:1000000"};
  config.train.batch_size = config.model.block_size = 1'000'000;
  config.train.max_steps = 999'999'999;
  EXPECT_TRUE(names(error_of([&] { validate(config); }), {"train.batch_size", "model.block_size", "train.max_steps", "tokens"}));
}

}  // namespace
}  // namespace dikkat
