#include "autograd/kernels/attention/attention_tiles.h"

#include <cstring>
#include <new>

#include <gtest/gtest.h>

namespace dikkat::kernels::attention_tiles::attention_tiles_test {
namespace {

// The intervals are compared with keys as whole vectors.
TEST(AttentionIntervals, EveryLaneHasAValue) {
  const AttentionShape s{.batch = 1, .heads = 1, .queries = 70, .keys = 70, .head_size = 8, .causal = true};
  alignas(64) unsigned char memory[2][sizeof(Intervals<float>)];
  const Intervals<float>* intervals[2];
  for (int i = 0; i < 2; ++i) {
    std::memset(memory[i], i == 0 ? 0x11 : 0x22, sizeof memory[i]);
    intervals[i] = new (memory[i]) Intervals<float>(s, 0, 64, 6);
  }
  EXPECT_EQ(std::memcmp(intervals[0]->key_begin, intervals[1]->key_begin, sizeof intervals[0]->key_begin), 0);
  EXPECT_EQ(std::memcmp(intervals[0]->key_end, intervals[1]->key_end, sizeof intervals[0]->key_end), 0);
  for (index query = 6; query < kBlock; ++query) {
    const auto vector = query / kLanes<float>;
    const auto lane = query % kLanes<float>;
    EXPECT_LE(intervals[0]->key_end[vector][lane], intervals[0]->key_begin[vector][lane]) << "past the end no key is seen";
  }
}

}  // namespace
}  // namespace dikkat::kernels::attention_tiles::attention_tiles_test
