#include "train/system/free_space.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

TEST(FreeSpace, IsThatOfThePlaceWhereAFolderWillBe) {
  const auto here = free_space("/tmp");
  ASSERT_TRUE(here.has_value());
  EXPECT_GT(*here, 0);
  EXPECT_TRUE(free_space("/tmp/no/such/folder").has_value());
  EXPECT_TRUE(free_space("no-such-folder").has_value());
}

TEST(FreeSpace, ALackIsReportedInBytes) {
  EXPECT_EQ(lack_of_space("/tmp", 1), "");
  const std::string lack = lack_of_space("/tmp/run", std::numeric_limits<index>::max());
  EXPECT_TRUE(testing::names(lack, {"9,223,372,036,854,775,807 bytes", "/tmp/run"}));
}

TEST(FreeSpace, AFileSystemWithoutASizeIsNotAsked) { EXPECT_EQ(lack_of_space("/proc/self", std::numeric_limits<index>::max()), ""); }

}  // namespace
}  // namespace dikkat
