#include "train/web/serve/call_scan.h"

#include <gtest/gtest.h>

namespace dikkat::serve {
namespace {

const CallFormat kMarkedCall{.begin = "<call>", .name_key = "name", .arguments_key = "arguments"};
const CallFormat kBareCall{.name_key = "name", .arguments_key = "arguments"};
const CallFormat kArgumentsOnly{.begin = "<call>"};
const std::vector<std::string> kCallable = {"add", "get_time"};

/// The result of a scan byte by byte.
struct FoundCall {
  CallScan::Progress progress;
  std::size_t end;  // bytes until it is complete or bad
  std::string name, arguments;

  bool operator==(const FoundCall&) const = default;
};

FoundCall scan_bytes(const CallFormat& form, const std::string& text) {
  CallScan scan(form, kCallable);
  CallScan::Progress progress = CallScan::Progress::more;
  std::size_t size = 0;
  while (progress == CallScan::Progress::more && size < text.size()) {
    progress = scan.scan(std::string_view(text).substr(0, ++size));
  }
  return {progress, size, scan.name(), std::string(scan.arguments(std::string_view(text).substr(0, size)))};
}

TEST(CallScan, FindsNameArgumentsAndEnd) {
  const std::string call = R"({"name": "add", "arguments": {"a": [1, {"}": "\\\"}"}]}})";
  const FoundCall found{CallScan::Progress::complete, call.size(), "add", R"({"a": [1, {"}": "\\\"}"}]})"};
  EXPECT_EQ(scan_bytes(kMarkedCall, call + "} more"), found);
  EXPECT_EQ(scan_bytes(kBareCall, call), found);
  EXPECT_EQ(scan_bytes(kMarkedCall, R"({"arguments":"{\"a\": 1}","more":[{"name":"x"}],"n":-1,"name":"get_time"})"),
            (FoundCall{CallScan::Progress::complete, 73, "get_time", R"("{\"a\": 1}")"}));
  EXPECT_EQ(scan_bytes(kArgumentsOnly, R"({"name": {"a": 1}} more)"),
            (FoundCall{CallScan::Progress::complete, 18, "", R"({"name": {"a": 1}})"}));
  EXPECT_EQ(scan_bytes(kMarkedCall, R"({"name": "add", "arguments": {"a": [)"),
            (FoundCall{CallScan::Progress::more, 36, "add", R"({"a": [)"}));
}

TEST(CallScan, RefusesOtherTextsAtTheFirstByteThatShowsIt) {
  const auto bad_byte = [](const CallFormat& form, const std::string& text) {
    const FoundCall found = scan_bytes(form, text);
    EXPECT_EQ(found.progress, CallScan::Progress::bad) << text;
    return found.end;
  };
  EXPECT_EQ(bad_byte(kMarkedCall, "["), 1U);
  EXPECT_EQ(bad_byte(kMarkedCall, R"({1: 2})"), 2U);
  EXPECT_EQ(bad_byte(kMarkedCall, R"({"name": 7})"), 10U);
  EXPECT_EQ(bad_byte(kMarkedCall, R"({"name": "adds"})"), 15U) << "not a tool";
  EXPECT_EQ(bad_byte(kMarkedCall, R"({"arguments": [1]})"), 15U);
  EXPECT_EQ(bad_byte(kMarkedCall, R"({"id": "a" "b"})"), 12U);
  EXPECT_EQ(bad_byte(kMarkedCall, R"({"id": 1: 2})"), 9U);
  EXPECT_EQ(bad_byte(kBareCall, R"({"city": "Rome"})"), 7U) << "an object without a mark may be the answer";
}

}  // namespace
}  // namespace dikkat::serve
