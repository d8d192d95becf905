#include "train/model/finite_weights.h"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TEST(FiniteWeights, ANumberThatIsNoneIsFoundWhereverItStands) {
  constexpr index kSize = 40'000;  // several blocks of the search
  ParameterStore store;
  store.add("h.0.w", {4, kSize / 4}, Init{}, Decay::yes, Role::hidden);
  store.allocate(1);
  const ParameterStore::Entry& entry = store.entry("h.0.w");
  float* const values = store.weights<float>() + entry.offset;
  values[3] = std::numeric_limits<float>::max();
  values[4] = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(error_of<InputError>([&] { require_finite(entry, "model.gguf"); }), "");
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const index at : {index{0}, index{16'384}, kSize - 1}) {
      const float old = std::exchange(values[at], bad);
      EXPECT_TRUE(
          names(error_of<InputError>([&] { require_finite(entry, "model.gguf"); }), {"model.gguf", "h.0.w", "1", concat(at).c_str()}));
      values[at] = old;
    }
  }
}

}  // namespace
}  // namespace dikkat
