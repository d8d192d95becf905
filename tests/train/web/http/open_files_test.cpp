#include "train/web/http/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace dikkat {
namespace {

TEST(OpenFiles, RaisesTheLimitAsFarAsPermitted) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(permit_open_files(10), 64U) << "it is never lowered";
  EXPECT_EQ(permit_open_files(100), 100U);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 100U);
  EXPECT_EQ(permit_open_files(before.rlim_max), before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace dikkat
