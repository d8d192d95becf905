#include "train/web/http/loopback.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(Loopback, IsOnlyReachedFromThisMachine) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"}) {
    EXPECT_TRUE(is_loopback(own)) << own;
  }
  for (const char* other : {"0.0.0.0", "::", "192.168.0.1", "127.evil.example", "localhost.evil.example", ""}) {
    EXPECT_FALSE(is_loopback(other)) << other;
  }
}

}  // namespace
}  // namespace dikkat
