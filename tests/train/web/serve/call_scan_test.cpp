#include "train/web/serve/call_scan.h"

#include <gtest/gtest.h>

namespace dikkat::serve {
namespace {

using Progress = CallScan::Progress;

const CallFormat kMarked{.begin = "<call>", .name_key = "name", .arguments_key = "arguments"};
const CallFormat kBare{.name_key = "name", .arguments_key = "arguments"};
const CallFormat kOnlyArguments{.begin = "<call>"};
const std::vector<std::string> kTools = {"add", "get_time"};

/// What a scan byte by byte has found.
struct Found {
  Progress progress;
  std::size_t end;  // bytes until it is complete or bad
  std::string name, arguments;

  bool operator==(const Found&) const = default;
};

Found scan(const CallFormat& form, const std::string& text) {
  CallScan scan(form, kTools);
  Progress progress = Progress::more;
  std::size_t size = 0;
  while (progress == Progress::more && size < text.size()) {
    progress = scan.scan(std::string_view(text).substr(0, ++size));
  }
  return {progress, size, scan.name(), std::string(scan.arguments(std::string_view(text).substr(0, size)))};
}

TEST(CallScan, FindsNameArgumentsAndEnd) {
  const std::string call = R"({"name": "add", "arguments": {"a": [1, {"}": "\\\"}"}]}})";
  const Found found{Progress::complete, call.size(), "add", R"({"a": [1, {"}": "\\\"}"}]})"};
  EXPECT_EQ(scan(kMarked, call + "} more"), found);
  EXPECT_EQ(scan(kBare, call), found);
  EXPECT_EQ(scan(kMarked, R"({"arguments":"{\"a\": 1}","more":[{"name":"x"}],"n":-1,"name":"get_time"})"),
            (Found{Progress::complete, 73, "get_time", R"("{\"a\": 1}")"}));
  EXPECT_EQ(scan(kOnlyArguments, R"({"name": {"a": 1}} more)"), (Found{Progress::complete, 18, "", R"({"name": {"a": 1}})"}));
  EXPECT_EQ(scan(kMarked, R"({"name": "add", "arguments": {"a": [)"), (Found{Progress::more, 36, "add", R"({"a": [)"}));
}

TEST(CallScan, RefusesOtherTextsAtTheFirstByteThatShowsIt) {
  const auto bad_byte = [](const CallFormat& form, const std::string& text) {
    const Found found = scan(form, text);
    EXPECT_EQ(found.progress, Progress::bad) << text;
    return found.end;
  };
  EXPECT_EQ(bad_byte(kMarked, "["), 1U);
  EXPECT_EQ(bad_byte(kMarked, R"({1: 2})"), 2U);
  EXPECT_EQ(bad_byte(kMarked, R"({"name": 7})"), 10U);
  EXPECT_EQ(bad_byte(kMarked, R"({"name": "adds"})"), 15U) << "not a tool";
  EXPECT_EQ(bad_byte(kMarked, R"({"arguments": [1]})"), 15U);
  EXPECT_EQ(bad_byte(kMarked, R"({"id": "a" "b"})"), 12U);
  EXPECT_EQ(bad_byte(kMarked, R"({"id": 1: 2})"), 9U);
  EXPECT_EQ(bad_byte(kBare, R"({"city": "Rome"})"), 7U) << "an object without a mark may be the answer";
}

}  // namespace
}  // namespace dikkat::serve
