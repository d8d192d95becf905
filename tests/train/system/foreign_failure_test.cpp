#include "train/system/foreign_failure.h"

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

TEST(SentenceAbout, OurOwnErrorsAreNotChanged) {
  EXPECT_EQ(sentence_about(Error("runs/x is full"), "dikkat train"), "runs/x is full");
  EXPECT_EQ(sentence_about(InputError("runs/x is not a run"), "dikkat train"), "runs/x is not a run");
}

TEST(SentenceAbout, LibrariesFailuresAreNamedByTheCommandAndTheSystemsReason) {
  const std::filesystem::filesystem_error file("cannot create directories", "runs/x", std::error_code(ENOSPC, std::generic_category()));
  EXPECT_TRUE(names(sentence_about(file, "dikkat train"), {"dikkat train", "runs/x", "No space left on device"}));
  const std::filesystem::filesystem_error folder("cannot get current path", std::error_code(ENOENT, std::generic_category()));
  EXPECT_EQ(sentence_about(folder, "dikkat train").find("cannot get current path"), std::string::npos);
  EXPECT_TRUE(names(sentence_about(std::system_error(EAGAIN, std::generic_category()), "dikkat serve"), {"dikkat serve", "ulimit -u"}));
  EXPECT_TRUE(
      names(sentence_about(std::system_error(EIO, std::system_category()), "dikkat serve"), {"dikkat serve", "Input/output error"}));
}

TEST(SentenceAbout, UnexpectedErrorsAskForAReport) {
  const std::string text = sentence_about(std::out_of_range("vector::_M_range_check"), "dikkat sample");
  EXPECT_TRUE(names(text, {"dikkat sample", "report", "std::out_of_range"}));
}

}  // namespace
}  // namespace dikkat
