#include "train/model/precision.h"

#include <gtest/gtest.h>

#include "autograd/kernels/instruction_set.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

Config with(Precision precision, bool emulate) {
  Config config;
  config.train.precision = precision;
  config.train.emulate_bf16 = emulate;
  return config;
}

TEST(Precision, IsKeptWhenItIsGiven) {
  for (const Precision given : {Precision::f32, Precision::bf16}) {
    Config config = with(given, true);
    EXPECT_EQ(settle_precision(config), "");
    EXPECT_EQ(config.train.precision, given);
    EXPECT_EQ(operand_type(config.train), given == Precision::f32 ? DType::f32 : DType::bf16);
  }
}

TEST(Precision, AutoBecomesOneThatThisBuildHas) {
  Config config = with(Precision::auto_, false);
  EXPECT_NE(settle_precision(config), "") << "gives the reason";
  EXPECT_NE(config.train.precision, Precision::auto_);
  EXPECT_EQ(config.optim.muon_precision, config.train.precision);
  if (!kernels::has_bf16_products()) {
    EXPECT_EQ(config.train.precision, Precision::f32);
  }
  const Config first = config;
  EXPECT_EQ(settle_precision(config), "") << "once";
  EXPECT_EQ(config, first);
}

TEST(Precision, MuonCanHaveItsOwn) {
  Config config = with(Precision::bf16, true);
  config.optim.muon_precision = Precision::f32;
  settle_precision(config);
  EXPECT_EQ(config.optim.muon_precision, Precision::f32);
  EXPECT_EQ(config.train.precision, Precision::bf16);
}

TEST(Precision, Bf16WithoutTheInstructionIsRefusedUnlessEmulated) {
  Config config = with(Precision::bf16, false);
  const std::string error = error_of([&] { settle_precision(config); });
  if (kernels::has_bf16_products()) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_TRUE(names(error, {"train.precision", "\"bf16\"", "train.emulate_bf16 = true"}));
  }
}

}  // namespace
}  // namespace dikkat
