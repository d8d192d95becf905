#include "autograd/base/cores.h"

#include <cmath>
#include <thread>

#include <sched.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

class CgroupQuota : public ::testing::Test {
 protected:
  void write(const std::string& cgroup, const std::string& text) const {
    std::filesystem::create_directories(root / cgroup);
    std::ofstream((root / cgroup) / "cpu.max") << text;
  }
  double of(const std::string& path) const { return cgroup_quota(root.path(), path); }

  TemporaryFolder root;
};

TEST_F(CgroupQuota, IsTimeOverPeriod) {
  write("a", "150000 100000\n");
  EXPECT_EQ(of("/a"), 1.5);
  EXPECT_EQ(of("a"), 1.5);
}

TEST_F(CgroupQuota, IsTheLeastOfThoseAbove) {
  write("", "800000 100000\n");
  write("a", "max 100000\n");
  write("a/b", "200000 50000\n");
  write("a/b/c", "500000 100000\n");
  EXPECT_EQ(of("/a/b/c"), 4);
  EXPECT_EQ(of("/a"), 8);
  EXPECT_EQ(of("/"), 8);
}

TEST_F(CgroupQuota, IsInfiniteWithoutALimit) {
  write("max", "max 100000\n");
  write("broken", "many of them\n");
  write("none", "0 0\n");
  write("empty", "");
  for (const char* path : {"/", "/max", "/broken", "/none", "/empty", "/not-there/at-all"}) {
    EXPECT_TRUE(std::isinf(of(path))) << path;
  }
}

TEST(UsableCores, FollowTheAffinityMask) {
  EXPECT_GE(usable_cores(), 1);
  std::thread([] {  // the mask is a thread's own
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_LE(usable_cores(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &all)) {
        CPU_SET(core, &one);
        break;
      }
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
  })
      .join();
}

}  // namespace
}  // namespace dikkat
