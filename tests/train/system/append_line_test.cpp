#include <csignal>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/temporary_folder.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

TEST(AppendLine, StartsAFileAndContinuesOneThatEndsWithoutALineBreak) {
  const TemporaryFolder folder;
  Descriptor file(-1);
  ASSERT_EQ(open_for_appending(folder / "f", file), 0);
  EXPECT_EQ(append_line(file.get(), "one\n"), 0);
  EXPECT_EQ(append_line(file.get(), "two\n"), 0);
  EXPECT_EQ(read_bytes(folder / "f"), "one\ntwo\n");
  EXPECT_EQ(cut_file(file.get(), 6), 0);
  EXPECT_EQ(append_line(file.get(), "three\n"), 0);
  EXPECT_EQ(read_bytes(folder / "f"), "one\ntw\nthree\n");
  Descriptor again(-1);
  ASSERT_EQ(open_for_appending(folder / "f", again), 0);
  EXPECT_EQ(append_line(again.get(), "four\n"), 0);
  EXPECT_EQ(read_bytes(folder / "f"), "one\ntw\nthree\nfour\n");
}

TEST(AppendLine, NeedsARegularFile) {
  const TemporaryFolder folder;
  Descriptor file(-1);
  EXPECT_EQ(open_for_appending(folder / "no" / "f", file), ENOENT);
  EXPECT_EQ(open_for_appending(folder.path(), file), EISDIR);
  EXPECT_EQ(open_for_appending("/dev/null", file), EINVAL);
}

TEST(AppendLine, LeavesNoPartOfALineThatDoesNotFit) {
  const TemporaryFolder folder;
  Descriptor file(-1);
  ASSERT_EQ(open_for_appending(folder / "f", file), 0);
  ASSERT_EQ(append_line(file.get(), "0123456789"), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 15, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_EQ(append_line(file.get(), "more than fits\n"), EFBIG);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, was);
  EXPECT_EQ(read_bytes(folder / "f"), "0123456789");
}

}  // namespace
}  // namespace dikkat
