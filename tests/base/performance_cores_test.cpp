#include "autograd/base/performance_cores.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

/// A made-up /sys/devices.
class PerformanceCores : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = devices / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_capacities(const std::vector<int>& capacities) const {
    write("system/cpu/online", "0-" + std::to_string(capacities.size() - 1) + "\n");
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      write("system/cpu/cpu" + std::to_string(i) + "/cpu_capacity", std::to_string(capacities[i]) + "\n");
    }
  }
  /// The cores that are found, such as "0 1 2 ".
  std::string found() const {
    const cpu_set_t cores = performance_cores(devices.path());
    std::string list;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      list += CPU_ISSET(i, &cores) ? std::to_string(i) + " " : "";
    }
    return list;
  }

  TemporaryFolder devices;
};

TEST_F(PerformanceCores, AreThoseOfCpuCore) {
  write("system/cpu/online", "0-11\n");
  write("cpu_core/cpus", "0-5,7,11\n");
  write("cpu_atom/cpus", "6,8-10\n");
  EXPECT_EQ(found(), "0 1 2 3 4 5 7 11 ");
}

// Two performance cores with two threads each, and eight others, which are faster together.
TEST_F(PerformanceCores, AreAllIfTheFastOnesAreFew) {
  write("system/cpu/online", "0-11\n");
  write("cpu_core/cpus", "0-3\n");
  write("cpu_atom/cpus", "4-11\n");
  EXPECT_EQ(found(), "");
}

TEST_F(PerformanceCores, FollowFromCapacities) {
  write_capacities({446, 446, 446, 446, 1024, 1024, 1024, 1024});
  EXPECT_EQ(found(), "4 5 6 7 ");
  write_capacities({160, 160, 160, 160, 498, 498, 1024, 1024});
  EXPECT_EQ(found(), "6 7 ") << "2 x 1024 is more than 4 x 498 and 8 x 160";
  write_capacities({160, 160, 160, 160, 700, 700, 1024, 1024});
  EXPECT_EQ(found(), "4 5 6 7 ");
  write_capacities({446, 446, 446, 446, 446, 446, 1024, 1024});
  EXPECT_EQ(found(), "") << "8 x 446 is more than 2 x 1024";
}

TEST_F(PerformanceCores, AreNoneWhereAllAreEqualOrUnknown) {
  EXPECT_EQ(found(), "");
  write_capacities({1024, 1024, 1024, 1024});
  EXPECT_EQ(found(), "");
  write("system/cpu/online", "0-4\n");
  write_capacities({1024, 1024, 300});
  write("system/cpu/online", "0-3\n");
  std::filesystem::remove(devices / "system/cpu/cpu3/cpu_capacity");
  EXPECT_EQ(found(), "") << "the speed of core 3 is unknown";
  for (const char* wrong : {"", "all", "0-", "3-1", "0-999999", "-4"}) {
    write("cpu_core/cpus", wrong);
    write("cpu_atom/cpus", "1-3");
    EXPECT_EQ(found(), "") << wrong;
  }
}

/// Cores of this machine, the first of which is made to be the only fast one.
class OwnCores : public PerformanceCores {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sched_getaffinity(0, sizeof all_, &all_), 0);
    std::string online, atoms;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &all_)) {
        (online.empty() ? first_ : last_) = i;
        atoms += (online.empty() ? "" : atoms.empty() ? "" : ",") + (online.empty() ? "" : std::to_string(i));
        online += (online.empty() ? "" : ",") + std::to_string(i);
      }
    }
    if (CPU_COUNT(&all_) != 2) {
      GTEST_SKIP() << "of more than two cores, one is never the fastest set";
    }
    write("system/cpu/online", online);
    write("cpu_core/cpus", std::to_string(first_));
    write("cpu_atom/cpus", atoms);
  }
  /// Returns the number of cores that a thread may use after it was told to use the fast ones, and whether it reports that.
  std::pair<int, bool> used(std::vector<std::string> words = {"dikkat", "train"}, int only = -1) {
    std::pair<int, bool> result;
    std::thread([&] {  // the mask is a thread's own
      if (only >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(only, &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
      }
      std::vector<char*> argv;
      for (std::string& word : words) {
        argv.push_back(word.data());
      }
      argv.push_back(nullptr);
      use_performance_cores(devices.path(), argv.data());
      cpu_set_t set;
      ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
      result = {CPU_COUNT(&set), is_on_performance_cores(devices.path())};
    })
        .join();
    return result;
  }
  cpu_set_t all_{};
  int first_ = 0, last_ = 0;
};

TEST_F(OwnCores, AreUsedUnlessTheUserChose) {
  const char* const set = std::getenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  const std::string before = set == nullptr ? "" : set;
  ::unsetenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  const std::pair<int, bool> narrowed{1, true}, all{2, false};
  EXPECT_EQ(used(), narrowed);
  EXPECT_EQ(used({"dikkat", "train", "--threads", "2"}), all);
  EXPECT_EQ(used({"dikkat", "--threads=2"}), all);
  EXPECT_EQ(used({"dikkat"}, last_), (std::pair<int, bool>{1, false})) << "a mask that the user chose";
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    ::setenv(name, "2", 1);  // NOLINT(concurrency-mt-unsafe)
    EXPECT_EQ(used(), all) << name;
    ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  }
  if (!before.empty()) {
    ::setenv("OMP_NUM_THREADS", before.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
}

}  // namespace
}  // namespace dikkat
