#include "train/system/byte_size.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

TEST(ByteSize, HasUnits) {
  const std::pair<const char*, std::size_t> sizes[] = {
      {"0", 0},           {"17", 17},     {"64KB", 64'000},           {"1.5 GB", 1'500'000'000},
      {"2mb", 2'000'000}, {"3KiB", 3072}, {"1MiB", 1 << 20},          {"2GiB", std::size_t{2} << 30},
      {"5 B", 5},         {"0.5kb", 500}, {"1TB", 1'000'000'000'000}, {"1TiB", std::size_t{1} << 40}};
  for (const auto& [text, bytes] : sizes) {
    EXPECT_EQ(parse_bytes(text, "--size"), bytes) << text;
  }
}

TEST(ByteSize, RefusesOtherTexts) {
  for (const char* text : {"", "GB", "-1", "-1GB", "1 G B", "12XB", "1e3", "nan", "inf", "1GB ", "0x10", "99999999TB", "1..5GB", "all"}) {
    EXPECT_TRUE(testing::names(testing::error_of([&] { parse_bytes(text, "--size"); }), {"--size", "512MB"})) << text;
  }
}

}  // namespace
}  // namespace dikkat
