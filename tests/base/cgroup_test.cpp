#include "autograd/base/cgroup.h"

#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

std::string found(const std::string& text, std::string_view controller = "") {
  std::istringstream lines(text);
  return cgroup_in(lines, controller);
}

TEST(Cgroup, OfVersion2IsInTheLineOfHierarchy0) {
  EXPECT_EQ(found("0::/a/b\n"), "/a/b");
  EXPECT_EQ(found("12:memory:/m\n0::/a\n"), "/a");
  EXPECT_EQ(found("0::/a:b"), "/a:b");
}

TEST(Cgroup, OfVersion1IsInTheLineOfItsController) {
  const std::string text = "5:memory_pressure:/x\n4:cpu,memory:/a/b\n3:cpuset:/c\n0::/d\n";
  EXPECT_EQ(found(text, "memory"), "/a/b");
  EXPECT_EQ(found(text, "cpu"), "/a/b");
  EXPECT_EQ(found(text, "cpuset"), "/c");
}

TEST(Cgroup, IsTheRootIfNoLineNamesIt) {
  EXPECT_EQ(found(""), "/");
  EXPECT_EQ(found("12:memory:/m\n"), "/");
  EXPECT_EQ(found("no colon\none:colon\n"), "/");
  EXPECT_EQ(found("0::/a\n", "memory"), "/");
}

TEST(Cgroup, OfThisProcessIsAPath) { EXPECT_TRUE(own_cgroup().starts_with('/')); }

TEST(Cgroup, IsVisitedAfterThoseAbove) {
  for (const char* path : {"/a/b", "a/b"}) {
    std::vector<std::filesystem::path> folders;
    for_each_cgroup("/top", path, [&](const std::filesystem::path& folder) { folders.push_back(folder); });
    EXPECT_EQ(folders, (std::vector<std::filesystem::path>{"/top", "/top/a", "/top/a/b"}));
  }
}

}  // namespace
}  // namespace dikkat
