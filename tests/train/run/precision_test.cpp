#include "train/run/precision.h"

#include <gtest/gtest.h>

#include "autograd/kernels/instruction_set.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TrainConfig with(Precision precision, bool emulate) {
  TrainConfig config;
  config.precision = precision;
  config.emulate_bf16 = emulate;
  return config;
}

TEST(Precision, IsKeptWhenItIsGiven) {
  for (const Precision given : {Precision::f32, Precision::bf16}) {
    TrainConfig config = with(given, true);
    EXPECT_EQ(settle_precision(config), "");
    EXPECT_EQ(config.precision, given);
    EXPECT_EQ(operand_type(config), given == Precision::f32 ? DType::f32 : DType::bf16);
  }
}

TEST(Precision, AutoBecomesOneThatThisBuildHas) {
  TrainConfig config = with(Precision::auto_, false);
  EXPECT_NE(settle_precision(config), "") << "gives the reason";
  EXPECT_NE(config.precision, Precision::auto_);
  if (!kernels::has_bf16_products()) {
    EXPECT_EQ(config.precision, Precision::f32);
  }
  const TrainConfig first = config;
  EXPECT_EQ(settle_precision(config), "") << "once";
  EXPECT_EQ(config, first);
}

TEST(Precision, Bf16WithoutTheInstructionIsRefusedUnlessEmulated) {
  TrainConfig config = with(Precision::bf16, false);
  const std::string error = error_of([&] { settle_precision(config); });
  if (kernels::has_bf16_products()) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_TRUE(names(error, {"train.precision", "\"bf16\"", "train.emulate_bf16 = true"}));
  }
}

}  // namespace
}  // namespace dikkat
