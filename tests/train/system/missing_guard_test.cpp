#include "train/system/missing_guard.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/system/file.h"
#include "train/system/write_file.h"

namespace dikkat {
namespace {

/// Collects the reports while it exists.
struct Reports {
  Reports() {
    on_missing_guard([this](const std::string& sentence) { sentences.push_back(sentence); });
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() { on_missing_guard(nullptr); }
  std::vector<std::string> sentences{};
};

TEST(MissingGuard, IsReportedOnceAndIsNotAFailure) {
  Reports reports;
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
    EXPECT_EQ(accept_missing(Guard::lock, "runs/x", error), 0);
  }
  ASSERT_EQ(reports.sentences.size(), 1U);
  EXPECT_TRUE(testing::names(reports.sentences[0], {"runs/x", "locks", "No locks available"}));
  EXPECT_EQ(accept_missing(Guard::sync, "runs/x", ENOSYS), 0);
  EXPECT_EQ(accept_missing(Guard::reservation, "runs/x", EOPNOTSUPP), 0);
  EXPECT_EQ(reports.sentences.size(), 3U);
}

TEST(MissingGuard, AFailureStaysOne) {
  Reports reports;
  for (const Guard guard : {Guard::lock, Guard::sync, Guard::reservation}) {
    for (const int error : {0, EIO, ENOSPC, EDQUOT, ESTALE, EACCES, EMFILE, EBADF, ENOMEM}) {
      EXPECT_EQ(accept_missing(guard, "runs/x", error), error);
    }
  }
  EXPECT_EQ(accept_missing(Guard::sync, "runs/x", ENOLCK), ENOLCK);
  EXPECT_EQ(reports.sentences.size(), 0U);
}

// Tests each system call that writes a file, with each errno by which a file system reports that it lacks something.
TEST(MissingGuard, OnlyGuardsMayBeMissingFromAWrite) {
  for (const int error : {ENOSYS, EOPNOTSUPP, EINVAL, ENOLCK}) {
    for (const Operation operation : {Operation::open, Operation::write, Operation::sync, Operation::size, Operation::read,
                                      Operation::close, Operation::rename, Operation::sync_directory}) {
      const TemporaryFolder folder;
      Reports reports;
      Faults faults({.operation = operation, .nth = 1, .for_ever = true, .error = error});
      const std::string failure = testing::error_of(
          [&] { write_file(folder / "f", 3, [](ByteSink& sink) { sink.put(std::as_bytes(std::span("abc", 3))); }, &faults); });
      ASSERT_TRUE(faults.struck());
      const bool is_guard = error != ENOLCK && (operation == Operation::sync || operation == Operation::sync_directory);
      EXPECT_EQ(reports.sentences.size(), is_guard ? 1U : 0U) << name_of(operation);
      if (is_guard) {
        EXPECT_EQ(failure, "") << name_of(operation);
        EXPECT_EQ(read_bytes(folder / "f"), "abc");
      } else {
        EXPECT_NE(failure.find(describe_errno(error)), std::string::npos) << name_of(operation) << failure;
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
