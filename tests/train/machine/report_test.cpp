#include "train/machine/report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "autograd/kernels/instruction_set.h"
#include "train/machine/limits.h"

namespace dikkat {
namespace {

TEST(MachineReport, HasPlausibleFiguresWithTheirShares) {
  std::vector<double> shares;
  const MachineReport report = measure_machine(true, [&](double share) { shares.push_back(share); });
  std::set<std::string> keys;
  for (const MachineFigure& figure : report.figures) {
    EXPECT_TRUE(keys.insert(figure.key).second) << figure.key << " twice";
    EXPECT_TRUE(std::isfinite(figure.value) && figure.value > 0) << figure.key << ' ' << figure.value;
    if (figure.share) {
      EXPECT_TRUE(*figure.share > 0 && *figure.share <= 1) << figure.key << ' ' << *figure.share;
    }
  }
  for (const char* key :
       {"f32_peak", "f32_1024_768_768", "f64_512_512_512", "attention_64_forward", "step_small_f32", "decode_small_f32"}) {
    EXPECT_NE(report.find(key), nullptr) << key;
  }
  EXPECT_EQ(report.find("bf16_peak") != nullptr, kernels::has_bf16_products());
  EXPECT_EQ(report.find("step_large_f32"), nullptr);
  EXPECT_EQ(report.left_out.size(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_EQ(shares.back(), 1);
}

TEST(MachineLimits, AreFasterThanOneOperationACycle) {
  EXPECT_GT(peak_flops(DType::f32), 1e9);
  if (kernels::has_amx_products()) {
    EXPECT_GT(peak_flops(DType::bf16), 2 * peak_flops(DType::f32));
  }
}

}  // namespace
}  // namespace dikkat
