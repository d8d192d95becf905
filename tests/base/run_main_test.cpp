#include "autograd/base/run_main.h"

#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

struct Outcome {
  int code;
  std::string message;
};

template <class F>
Outcome outcome_of(F&& f) {
  ::testing::internal::CaptureStderr();
  const int code = exit_code_of(f);
  return {code, ::testing::internal::GetCapturedStderr()};
}

TEST(ExitCode, IsThatOfTheFunctionOr0) {
  EXPECT_EQ(exit_code_of([] { return 7; }), 7);
  EXPECT_EQ(exit_code_of([] {}), 0);
}

TEST(ExitCode, OfAnExceptionIs1AndItsMessageIsPrinted) {
  const Outcome error = outcome_of([] { fail("softmax: axis ", 3); });
  EXPECT_EQ(error.code, 1);
  EXPECT_EQ(error.message, "softmax: axis 3\n");
  const Outcome input = outcome_of([]() -> int { fail_input("no such file"); });
  EXPECT_EQ(input.code, 1);
  EXPECT_EQ(input.message, "no such file\n");
  const Outcome memory = outcome_of([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code, 1);
  EXPECT_EQ(memory.message, "out of memory\n");
  const Outcome other = outcome_of([] { throw 5; });
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.message, "");
}

TEST(RunMain, GivesTheArgumentsAfterTheName) {
  std::string name = "program", one = "a", two = "b c";
  char* argv[] = {name.data(), one.data(), two.data(), nullptr};
  ::setenv("GOMP_SPINCOUNT", "1000", 0);  // otherwise wait_briefly() would start this program once more
  std::vector<std::string> given;
  EXPECT_EQ(run_main(3, argv, [&](const std::vector<std::string>& arguments) { given = arguments; }), 0);
  EXPECT_EQ(given, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(run_main(3, argv, [] { return 4; }), 4);
}

}  // namespace
}  // namespace dikkat
