#include "train/assistant/size.h"

#include <gtest/gtest.h>

namespace dikkat::assistant {
namespace {

constexpr index kMegabyte = 1'000'000;

TEST(AssistantSize, LargerTextsHaveLargerVocabularies) {
  EXPECT_EQ(vocabulary_for(131'492), 512);
  EXPECT_EQ(vocabulary_for(25 * kMegabyte), 4096);
  EXPECT_EQ(vocabulary_for(1000 * kMegabyte), 8192);
}

TEST(AssistantSize, ModelsGrowWithTheTime) {
  constexpr double kRate = 4e11;
  index before = 0;
  for (const double seconds : {10.0, 300.0, 3600.0, 36000.0}) {
    const Size size = size_for(seconds, kRate, 8192, 1000 * kMegabyte);
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

TEST(AssistantSize, ModelsStaySmallForASmallText) {
  for (const index bytes : {index{20'000}, index{131'492}, kMegabyte}) {
    EXPECT_LE(size_for(1e9, 1e12, 512, bytes).parameters(512), std::max<index>(4 * bytes, 150'000)) << bytes;
  }
  EXPECT_GT(size_for(1e9, 1e12, 512, kMegabyte).n_embd, size_for(1e9, 1e12, 512, 131'492).n_embd);
}

}  // namespace
}  // namespace dikkat::assistant
