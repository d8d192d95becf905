#include "train/web/serve/call_scan.h"

#include <gtest/gtest.h>

#include "train/grammar/schema_place.h"

namespace dikkat::serve {
namespace {

const CallFormat kMarkedCall{.begin = "<call>", .name_key = "name", .arguments_key = "arguments"};
const CallFormat kBareCall{.name_key = "name", .arguments_key = "arguments"};
const CallFormat kArgumentsOnly{.begin = "<call>"};
const CallFormat kEscapedArguments{.begin = "<call>", .arguments = kJsonForms[1]};
const CallFormat kTaggedArguments{.begin = "<call>", .arguments = kJsonForms[3]};
const std::vector<std::string> kCallable = {"add", "get_time"};

/// Scans longer and longer parts of a text until the call is complete or bad. `end` is then the number of bytes that were needed. The
/// arguments may only grow.
ScannedCall scan_bytes(const CallFormat& form, const std::string& text, const ArgumentTypes* types = nullptr) {
  ScannedCall call;
  std::size_t size = 0;
  while (call.progress == ScannedCall::Progress::more && size < text.size()) {
    const std::string before = call.arguments;
    call = scan_call(std::string_view(text).substr(0, ++size), form, kCallable, types);
    EXPECT_TRUE(call.arguments.starts_with(before)) << before << " became " << call.arguments;
  }
  EXPECT_TRUE(call.progress != ScannedCall::Progress::complete || call.end == size) << text;
  call.end = size;
  return call;
}

TEST(CallScan, FindsNameArgumentsAndEnd) {
  using Progress = ScannedCall::Progress;
  const std::string call = R"({"name": "add", "arguments": {"a": [1, {"}": "\\\"}"}]}})";
  const ScannedCall found{Progress::complete, call.size(), "add", R"({"a": [1, {"}": "\\\"}"}]})"};
  EXPECT_EQ(scan_bytes(kMarkedCall, call + "} more"), found);
  EXPECT_EQ(scan_bytes(kBareCall, call), found);
  EXPECT_EQ(scan_bytes(kMarkedCall, R"({"arguments":"{\"a\": 1}","more":[{"name":"x"}],"n":-1,"name":"get_time"})"),
            (ScannedCall{Progress::complete, 73, "get_time", R"("{\"a\": 1}")"}));
  EXPECT_EQ(scan_bytes(kArgumentsOnly, R"({"name": {"a": 1}} more)"), (ScannedCall{Progress::complete, 18, "", R"({"name": {"a": 1}})"}));
  EXPECT_EQ(scan_bytes(kMarkedCall, R"({"name": "add", "arguments": {"a": [)"), (ScannedCall{Progress::more, 36, "add", R"({"a": [)"}));
}

TEST(CallScan, RefusesOtherTextsAtTheFirstByteThatShowsIt) {
  const auto bad_byte = [](const CallFormat& form, const std::string& text) {
    const ScannedCall found = scan_bytes(form, text);
    EXPECT_EQ(found.progress, ScannedCall::Progress::bad) << text;
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
  EXPECT_EQ(bad_byte(kTaggedArguments, "<param>"), 7U);
  EXPECT_EQ(bad_byte(kTaggedArguments, "<parameter=a>\n1\n</parameter>\n}"), 30U);
}

/// The JSON of complete arguments; "bad" or "more" for others.
std::string json_of(const CallFormat& form, const std::string& text, const ArgumentTypes* types = nullptr) {
  const ScannedCall found = scan_bytes(form, text, types);
  return found.progress == ScannedCall::Progress::complete ? found.arguments
         : found.progress == ScannedCall::Progress::bad    ? "bad"
                                                           : "more";
}

TEST(CallScan, WritesArgumentsWithMarkedStringsAsJson) {
  EXPECT_EQ(json_of(kEscapedArguments, "{}"), "{}");
  EXPECT_EQ(json_of(kEscapedArguments, "{city:<escape>R}o\"m\\e,\n<esc<escape>,days:-1.5e3,ok:true,no:None}"),
            R"({"city":"R}o\"m\\e,\n<esc","days":-1.5e3,"ok":true,"no":null})");
  EXPECT_EQ(json_of(kEscapedArguments, "{a:{b:[<escape>None<escape>,{},false],c_d:<escape><escape>}}"),
            R"({"a":{"b":["None",{},false],"c_d":""}})");
  EXPECT_EQ(json_of(kEscapedArguments, "{city:<escape>Rome}<end>"), "more") << "the string never ends";
  EXPECT_EQ(json_of({.begin = "<call>", .arguments = kJsonForms[2]}, "{a:<|\"|>\"<|\"|>,b:null}"), R"({"a":"\"","b":null})");
}

TEST(CallScan, WritesArgumentsBetweenTagsAsJsonOfTheirTypes) {
  const ArgumentTypes types = {{"text", kString},          {"count", kInteger}, {"on", kBoolean},
                               {"maybe", kString | kNull}, {"list", kArray},    {"", kString | kNumber}};
  const auto tagged = [](const std::string& name, const std::string& value) {
    return concat("<parameter=", name, ">\n", value, "\n</parameter>\n");
  };
  const auto read = [&](const std::string& arguments) { return json_of(kTaggedArguments, arguments + "</function>", &types); };
  EXPECT_EQ(read(""), "{}");
  EXPECT_EQ(read(tagged("text", "12") + tagged("count", "12") + tagged("on", "True")), R"({"text":"12","count":12,"on":true})");
  EXPECT_EQ(read(tagged("text", "a \"b\"\n\n</param> \\ </parameter") + tagged("text", "") + tagged("text", "\n")),
            R"({"text":"a \"b\"\n\n</param> \\ </parameter","text":"","text":"\n"})");
  EXPECT_EQ(read(tagged("maybe", "None")), R"({"maybe":null})");
  EXPECT_EQ(read(tagged("maybe", "12") + tagged("maybe", "\"null\"")), R"({"maybe":"12","maybe":"\"null\""})");
  EXPECT_EQ(read(tagged("list", "[1, \"a\", {\"b\": true}]")), R"({"list":[1, "a", {"b": true}]})");
  EXPECT_EQ(read(tagged("other", "-2.5") + tagged("other", "-2.5x") + tagged("other", " 3")),
            R"({"other":-2.5,"other":"-2.5x","other":" 3"})");
  for (const char* value : {"one", "1.5", "\"1\"", "", "True"}) {
    EXPECT_EQ(read(tagged("count", value)), "bad") << value;
  }
  EXPECT_EQ(json_of(kTaggedArguments, "\n <parameter=a>\n[1]\n</parameter></function>"), R"({"a":[1]})")
      << "any type, and other white space";
  EXPECT_EQ(json_of(kTaggedArguments, "<parameter=a>\nx\n</parameter>\n"), "more");
}

}  // namespace
}  // namespace dikkat::serve
