#include "train/system/machine_memory.h"

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

class Cgroups : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  CgroupMemory of(const std::string& path, std::size_t swap = 0) const { return cgroup_memory(root.path(), path, swap); }

  TemporaryFolder root;
};

TEST_F(Cgroups, LimitIsTheLeastOfThoseAbove) {
  write("memory.max", "max\n");
  write("a/memory.max", "8000\n");
  write("a/b/memory.max", "9000\n");
  EXPECT_EQ(of("/").limit, kNoLimit);
  EXPECT_EQ(of("/a/b").limit, 8000U);
  EXPECT_EQ(of("/not/there").limit, kNoLimit);
}

TEST_F(Cgroups, SwapSpaceIsCountedAsFarAsItMayBeUsed) {
  write("a/memory.max", "8000\n");
  EXPECT_EQ(of("/a", 500).limit, 8500U);
  write("a/memory.swap.max", "100\n");
  EXPECT_EQ(of("/a", 500).limit, 8100U);
}

TEST_F(Cgroups, TheRestCountsFilesThatMayBeDropped) {
  write("a/memory.max", "8000\n");
  write("a/memory.current", "5000\n");
  EXPECT_EQ(of("/a").available, 3000U);
  write("a/memory.stat", "anon 1\ninactive_file 700\nactive_file 900\n");
  EXPECT_EQ(of("/a").available, 3700U);
  write("a/memory.current", "90000\n");
  EXPECT_EQ(of("/a").available, 0U);
}

TEST_F(Cgroups, TheFirstVersionHasOtherNames) {
  write("a/memory.limit_in_bytes", "8000\n");
  write("a/memory.usage_in_bytes", "5000\n");
  write("a/memory.stat", "inactive_file 100\ntotal_inactive_file 700\n");
  const CgroupMemory memory = cgroup_memory_v1(root.path(), "/a", 500);
  EXPECT_EQ(memory.limit, 8500U);
  EXPECT_EQ(memory.available, 3700U);
  write("a/memory.memsw.limit_in_bytes", "8200\n");
  EXPECT_EQ(cgroup_memory_v1(root.path(), "/a", 500).limit, 8200U);
}

TEST(MachineMemory, IsKnown) {
  const MachineMemory machine = machine_memory();
  EXPECT_LT(machine.total, kNoLimit);
  EXPECT_LE(machine.available, machine.total);
  const ProcessMemory process = process_memory();
  EXPECT_GT(process.resident, std::size_t{1} << 20);
  EXPECT_GE(process.peak, process.resident / 2);
  EXPECT_GT(process.address_space, process.resident);
}

}  // namespace
}  // namespace dikkat
