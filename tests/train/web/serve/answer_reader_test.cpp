#include "train/web/serve/answer_reader.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "train/grammar/schema_place.h"

namespace dikkat::serve {
namespace {

const AnswerFormat kHermes{.think_begin = "<think>",
                           .think_end = "</think>",
                           .calls = CallFormat{.begin = "<tool_call>",
                                               .end = "</tool_call>",
                                               .name_key = "name",
                                               .arguments_key = "arguments",
                                               .several = true,
                                               .before = "<tool_call>\n{\"name\": \"",
                                               .between = "\", \"arguments\": ",
                                               .after = "}\n</tool_call>",
                                               .separator = "\n"}};
const AnswerFormat kBare{
    .calls = CallFormat{
        .name_key = "name", .arguments_key = "parameters", .before = "{\"name\": \"", .between = "\", \"parameters\": ", .after = "}"}};
const AnswerFormat kList{.calls = CallFormat{.begin = "[TOOL_CALLS]",
                                             .name_key = "name",
                                             .arguments_key = "arguments",
                                             .is_list = true,
                                             .several = true,
                                             .before = "{\"name\": \"",
                                             .between = "\", \"arguments\": ",
                                             .after = "}",
                                             .open = "[TOOL_CALLS] [",
                                             .separator = ", ",
                                             .close = "]"}};
const AnswerFormat kSplit{.calls = CallFormat{.begin = "<call>",
                                              .end = "</call>",
                                              .several = true,
                                              .before = "<call>",
                                              .between = "<args>",
                                              .after = "</call>",
                                              .separator = "\n"}};

const AnswerFormat kGemma{.calls = CallFormat{.begin = "<start_function_call>",
                                              .lead = "call:",
                                              .end = "<end_function_call>",
                                              .several = true,
                                              .before = "<start_function_call>call:",
                                              .after = "<end_function_call>",
                                              .last = "<start_function_response>",
                                              .arguments = kJsonForms[1]}};
const AnswerFormat kCoder{.think_begin = "<think>",
                          .think_end = "</think>",
                          .calls = CallFormat{.begin = "<tool_call>",
                                              .lead = "<function=",
                                              .end = "</tool_call>",
                                              .several = true,
                                              .before = "<tool_call>\n<function=",
                                              .between = ">\n",
                                              .after = "\n</tool_call>",
                                              .separator = "\n",
                                              .arguments = kJsonForms[3]}};

/// Parts of one kind, joined: "(reasoning)content[name arguments][name arguments]".
struct Joined {
  std::string reasoning{}, content{};
  std::vector<CallPart> calls{};

  void add(const AnswerParts& parts) {
    reasoning += parts.reasoning;
    content += parts.content;
    for (const CallPart& call : parts.calls) {
      if (call.name.empty()) {
        ASSERT_EQ(call.number + 1, std::ssize(calls));
        calls.back().arguments += call.arguments;
      } else {
        ASSERT_EQ(call.number, std::ssize(calls));
        calls.push_back(call);
      }
    }
  }
  std::string text() const {
    std::string all = reasoning.empty() ? "" : concat('(', reasoning, ')');
    all += content;
    for (const CallPart& call : calls) {
      all += concat('[', call.name, ' ', call.arguments, ']');
    }
    return all;
  }
};

AnswerReader::Options options_of(const AnswerFormat& form) {
  return {.form = &form, .reads_reasoning = true, .tools = {"add", "get_time"}, .several = true};
}

/// Reads a text in two parts, split at each byte, and byte by byte. All must give the parts of the whole, which are returned.
std::string read(const AnswerReader::Options& options, const std::string& text) {
  const auto joined = [&](const std::vector<std::string>& pieces) {
    AnswerReader reader(options);
    Joined all;
    for (const std::string& piece : pieces) {
      all.add(reader.push(piece));
    }
    all.add(reader.finish());
    EXPECT_EQ(reader.has_calls(), !all.calls.empty());
    return all.text();
  };
  const std::string whole = joined({text});
  std::vector<std::string> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(joined({text.substr(0, i), text.substr(i)}), whole) << i << " of " << text;
    bytes.push_back(text.substr(i, 1));
  }
  EXPECT_EQ(joined(bytes), whole) << text;
  AnswerReader::Options certain = options;
  certain.is_certain = true;
  AnswerReader moved(certain);
  Joined all;
  for (const std::string& byte : bytes) {
    AnswerReader next = std::move(moved);
    all.add(next.push(byte));
    moved = std::move(next);
  }
  all.add(moved.finish());
  if (whole.find('[') != std::string::npos && whole.find("{\"") != std::string::npos && whole.find('<') == std::string::npos) {
    EXPECT_EQ(all.text(), whole) << "as it comes: " << text;
  }
  return whole;
}

std::string hermes(const std::string& text) { return read(options_of(kHermes), text); }
std::string bare(const std::string& text) { return read(options_of(kBare), text); }
std::string list(const std::string& text) { return read(options_of(kList), text); }
std::string split(const std::string& text) { return read(options_of(kSplit), text); }
std::string gemma(const std::string& text) { return read(options_of(kGemma), text); }
std::string coder(const std::string& text) {
  AnswerReader::Options options = options_of(kCoder);
  options.types["add"] = {{"a", kString}, {"b", kNumber}};
  return read(options, text);
}

const std::string kAdd = R"(<tool_call>
{"name": "add", "arguments": {"a": 1, "b": "}\"{"}}
</tool_call>)";
const std::string kAddRead = R"([add {"a": 1, "b": "}\"{"}])";

TEST(AnswerReader, LeavesAnAnswerWithoutMarksAsItIs) {
  for (const char* text :
       {"", "a", " a \n", "\n\n", "a <tool b", "a <", "<tool_call", "a <think>b</think>", "ğüş < 3 \n <", "{\"name\": 1}", "</think>"}) {
    EXPECT_EQ(hermes(text), text);
  }
}

TEST(AnswerReader, ReadsCallsBetweenMarks) {
  EXPECT_EQ(hermes(kAdd), kAddRead);
  EXPECT_EQ(hermes("Let me see.\n\n" + kAdd + "\n" + kAdd + "\n"), "Let me see." + kAddRead + kAddRead);
  EXPECT_EQ(hermes("<tool_call>{\"arguments\":{},\"name\":\"get_time\"}</tool_call>"), "[get_time {}]");
  EXPECT_EQ(hermes("<tool_call>\n{\"name\": \"get_time\"}\n</tool_call>"), "[get_time {}]") << "no arguments";
  EXPECT_EQ(hermes(kAdd + "\n\nDone. \n"), "Done. \n" + kAddRead) << "text behind a call";
  EXPECT_EQ(hermes(kAdd.substr(0, kAdd.size() - 4)), kAddRead) << "a mark that is not complete";
  EXPECT_EQ(hermes(kAdd.substr(0, kAdd.find("\n</"))), kAddRead) << "no mark behind it";
  EXPECT_EQ(hermes(R"(<tool_call>{"name": "add", "arguments": "{\"a\": [1, 2]}"}</tool_call>)"), R"([add {"a": [1, 2]}])")
      << "arguments as a text";
  EXPECT_EQ(hermes(R"(<tool_call>{"id": 7, "type": "function", "name": "add", "arguments": {"name": "x"}, "more": [{}]}</tool_call>)"),
            R"([add {"name": "x"}])");
}

TEST(AnswerReader, ReadsArgumentsBeforeTheName) {
  const std::string call = R"(<tool_call>
{"arguments": {"a": [1, {"b": "}"}]}, "name": "add"}
</tool_call>)";
  EXPECT_EQ(hermes("So\n" + call + "\n" + call), R"(So[add {"a": [1, {"b": "}"}]}][add {"a": [1, {"b": "}"}]}])");
  AnswerReader::Options certain = options_of(kHermes);
  certain.is_certain = true;
  AnswerReader reader(certain);
  EXPECT_TRUE(reader.push(call.substr(0, call.find("\"name"))).calls.empty()) << "a stream has the name first";
  const std::vector<CallPart> calls = reader.push(call.substr(call.find("\"name"))).calls;
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.front().name, "add");
}

TEST(AnswerReader, WhatIsNoCallIsContent) {
  for (const char* text :
       {"<tool_call>", "<tool_call>\n", "a\n<tool_call>x</tool_call>", "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"add\", \"arguments\": 7}</tool_call>",
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": }}</tool_call>", "<tool_call>{\"name\": \"add\", \"argu",
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\"", "<tool_call>[]</tool_call>", "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\" \"add\"}</tool_call>", "<tool_call>{1: 2}"}) {
    EXPECT_EQ(hermes(text), text);
  }
  EXPECT_EQ(hermes("<tool_call>{\"name\": \"oops\"}\n" + kAdd), "<tool_call>{\"name\": \"oops\"}" + kAddRead) << "and then a call";
}

TEST(AnswerReader, ReadsReasoningAtTheBeginning) {
  EXPECT_EQ(hermes("<think>\nOne\n\ntwo\n</think>\n\nThree \n"), "(One\n\ntwo)Three \n");
  EXPECT_EQ(hermes("\n<think>\n\n</think>\n\n" + kAdd), kAddRead);
  EXPECT_EQ(hermes("<think>a <tool_call> b</think>c"), "(a <tool_call> b)c");
  EXPECT_EQ(hermes("<think>never ends </thin"), "(never ends </thin)");
  EXPECT_EQ(hermes("<think>"), "");
  EXPECT_EQ(hermes("<thin"), "<thin");
  AnswerReader::Options within = options_of(kHermes);
  within.begins_in_reasoning = true;
  EXPECT_EQ(read(within, "\nOne\n</think>\n\n" + kAdd), "(One)" + kAddRead);
  EXPECT_EQ(read(within, "</think>two"), "two");
  AnswerReader::Options left = options_of(kHermes);
  left.reads_reasoning = false;
  EXPECT_EQ(read(left, "<think>\na\n</think>\n\nb"), "<think>\na\n</think>\n\nb");
}

TEST(AnswerReader, WithoutToolsLeavesCallsInTheContent) {
  AnswerReader::Options without = options_of(kHermes);
  without.tools.clear();
  EXPECT_EQ(read(without, kAdd + " \n"), kAdd + " \n");
  EXPECT_EQ(read(without, "<think>a</think>\n" + kAdd), "(a)" + kAdd);
  AnswerFormat plain;
  EXPECT_EQ(read(options_of(plain), kAdd), kAdd) << "no form of calls";
}

TEST(AnswerReader, ReadsABareObjectOnlyAsTheWholeAnswer) {
  EXPECT_EQ(bare(R"({"name": "add", "parameters": {"a": {"b": [1]}}})"), R"([add {"a": {"b": [1]}}])");
  EXPECT_EQ(bare(R"(<|python_tag|>{"type": "function", "name": "add", "parameters": {}})"), "[add {}]");
  EXPECT_EQ(bare("\n {\"name\": \"add\", \"parameters\": {}} and more"), "[add {}]");
  for (const char* text : {R"(So: {"name": "add", "parameters": {}})", R"({"city": "Rome"})", R"({"name": "Ada"})", R"({"name": "add"})",
                           "{", "<|python", "{x}", R"({"name": "add", "age": 3})", R"({"name": "add", "parameters": {})", " \n"}) {
    EXPECT_EQ(bare(text), text);
  }
}

TEST(AnswerReader, ReadsAList) {
  EXPECT_EQ(list(R"(Well [TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}, {"name": "get_time", "arguments": {}, "id": "abc"}])"),
            R"(Well[add {"a": 1}][get_time {}])");
  EXPECT_EQ(list(R"([TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}, {"name": "x")"), R"(, {"name": "x"[add {"a": 1}])");
  EXPECT_EQ(list("[TOOL_CALLS] {}"), "[TOOL_CALLS] {}");
}

TEST(AnswerReader, ReadsANameBeforeTheArguments) {
  EXPECT_EQ(split("<call>add<args>{\"a\": \"<args>\"}</call>\n<call>get_time<args> {} </call>"), "[add {\"a\": \"<args>\"}][get_time {}]");
  for (const char* text : {"<call>adds<args>{}</call>", "<call>add<args>x</call>", "<call>ad", "<call>add<ar", "<call>nothing"}) {
    EXPECT_EQ(split(text), text);
  }
}

TEST(AnswerReader, ReadsCallsWithMarkedStrings) {
  const std::string call = "<start_function_call>call:add{a:<escape>x}<end<escape>,b:2}<end_function_call>",
                    read = R"([add {"a":"x}<end","b":2}])";
  EXPECT_EQ(gemma(call), read);
  EXPECT_EQ(gemma("Let me see.\n" + call + call + "<start_function_response>"), "Let me see." + read + read);
  EXPECT_EQ(gemma(call + "<start_function_response>response:add{value:3}<end_function_response>more"), read) << "the answer has ended";
  EXPECT_EQ(gemma(call + " So <start"), "So <start" + read);
  EXPECT_EQ(gemma(call + "<start"), "<start" + read) << "it could have become the mark";
  EXPECT_EQ(gemma("<start_function_call>call:get_time{}<end_function_call>"), "[get_time {}]");
  for (const char* text :
       {"<start_function_call>", "<start_function_call>add{}", "<start_function_call>call:sub{}<end_function_call>",
        "<start_function_call>call:add{a:<escape>x}<end_function_call>", "<start_function_call>call:add{a:b}<end_function_call>",
        "<start_function_call>call:add{a}<end_function_call>", "<start_function_call>call:add(1)"}) {
    EXPECT_EQ(gemma(text), text);
  }
}

TEST(AnswerReader, ReadsCallsBetweenTags) {
  const std::string call =
      "<tool_call>\n<function=add>\n<parameter=a>\n1\n2\n</parameter>\n<parameter=b>\n-3.5\n</parameter>\n</function>\n</tool_call>";
  const std::string read = R"([add {"a":"1\n2","b":-3.5}])";
  EXPECT_EQ(coder(call), read);
  EXPECT_EQ(coder("<think>\nHm\n</think>\n\nLet me see.\n\n" + call + "\n" + call + "\nSo"), "(Hm)Let me see.So" + read + read);
  EXPECT_EQ(coder("<tool_call>\n<function=get_time>\n</function>\n</tool_call>"), "[get_time {}]");
  EXPECT_EQ(coder("<tool_call><function=get_time><parameter=z>\n[1]\n</parameter></function></tool_call>"), "[get_time {\"z\":[1]}]")
      << "a name of any type, and other white space";
  for (const char* text :
       {"<tool_call>", "<tool_call>\n<function=sub>\n</function>\n</tool_call>", "<tool_call>\n<function=add>\n{\"a\": 1}\n</tool_call>",
        "<tool_call>\n<function=add>\n<parameter=b>\nx\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=add>\n<parameter=a>\nx</parameter>\n</function>", "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}"}) {
    EXPECT_EQ(coder(text), text);
  }
}

TEST(AnswerReader, OneCallEndsTheAnswerWhereOnlyOneIsWanted) {
  AnswerReader::Options one = options_of(kHermes);
  one.several = false;
  EXPECT_EQ(read(one, kAdd + "\n" + kAdd), kAddRead);
  AnswerReader reader(one);
  reader.push(kAdd.substr(0, kAdd.size() - 20));
  EXPECT_FALSE(reader.is_over());
  reader.push(kAdd.substr(kAdd.size() - 20));
  EXPECT_TRUE(reader.is_over());
}

TEST(AnswerReader, HoldsNoMoreThanMayBeAMark) {
  AnswerReader reader(options_of(kHermes));
  EXPECT_EQ(reader.push("a").content, "a");
  EXPECT_EQ(reader.push(" b <").content, " b");
  EXPECT_EQ(reader.push("tool").content, "");
  EXPECT_EQ(reader.push("s <tool_call").content, " <tools");
  EXPECT_EQ(reader.push(" >").content, " <tool_call >");
  AnswerReader plain(options_of(kBare));
  EXPECT_EQ(plain.push("{\"cit").content, "");
  EXPECT_EQ(plain.push("y\"").content, "{\"city\"");
  EXPECT_EQ(plain.push(" ").content, " ");
  AnswerReader fast(options_of(kBare));
  EXPECT_EQ(fast.push("{\"name\": \"x\"").content, "{\"name\": \"x\"") << "not a tool";
}

TEST(AnswerReader, GivesArgumentsAsTheyComeWhereTheyAreCertain) {
  AnswerReader::Options certain = options_of(kHermes);
  certain.is_certain = true;
  AnswerReader reader(certain);
  EXPECT_TRUE(reader.push("<tool_call>\n{\"name\": \"ad").calls.empty());
  EXPECT_EQ(reader.push("d\"").calls, (std::vector<CallPart>{{.number = 0, .name = "add"}}));
  EXPECT_TRUE(reader.push(", \"arguments\":").calls.empty());
  EXPECT_EQ(reader.push(" {\"a\"").calls, (std::vector<CallPart>{{.arguments = "{\"a\""}}));
  EXPECT_EQ(reader.push(": 1}").calls, (std::vector<CallPart>{{.arguments = ": 1}"}}));
  EXPECT_TRUE(reader.push("}\n</tool_ca").calls.empty());
  EXPECT_EQ(reader.push("ll>\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {").calls,
            (std::vector<CallPart>{{.number = 1, .name = "get_time"}, {.number = 1, .arguments = "{"}}));
  EXPECT_TRUE(reader.finish().content.empty()) << "a length or a stop string ended the call";
  EXPECT_FALSE(reader.has_calls()) << "the last one is cut off";
}

TEST(AnswerReader, GivesStringsBetweenMarksAsTheyCome) {
  AnswerReader::Options certain = options_of(kCoder);
  certain.is_certain = true;
  certain.types["add"] = {{"a", kString}, {"b", kNumber}};
  AnswerReader reader(certain);
  EXPECT_TRUE(reader.push("<tool_call>\n<function=add").calls.empty());
  EXPECT_EQ(reader.push(">\n<parameter=a>\nfirst").calls, (std::vector<CallPart>{{.name = "add"}, {.arguments = "{\"a\":\"first"}}));
  EXPECT_EQ(reader.push("\"\n").calls, (std::vector<CallPart>{{.arguments = "\\\""}})) << "the line break may belong to the tag";
  EXPECT_EQ(reader.push("x\n</parameter>\n<parameter=b>\n1").calls, (std::vector<CallPart>{{.arguments = "\\nx\",\"b\":"}}));
  EXPECT_EQ(reader.push("2\n</parameter>\n</function>").calls, (std::vector<CallPart>{{.arguments = "12}"}}));
  AnswerReader::Options escaped = options_of(kGemma);
  escaped.is_certain = true;
  AnswerReader other(escaped);
  EXPECT_EQ(other.push("<start_function_call>call:add{a:<escape>x<esc").calls,
            (std::vector<CallPart>{{.name = "add"}, {.arguments = "{\"a\":\"x"}}));
  EXPECT_EQ(other.push("ape>,b:1").calls, (std::vector<CallPart>{{.arguments = "\",\"b\":"}}));
  EXPECT_EQ(other.push("2}").calls, (std::vector<CallPart>{{.arguments = "12}"}}));
  EXPECT_FALSE(other.is_over());
  other.push("<end_function_call><start_function_response>");
  EXPECT_TRUE(other.is_over());
}

TEST(AnswerReader, APartOfACallIsNoContentWhereCallsAreCertain) {
  const auto content_of = [](const AnswerReader::Options& options, const std::string& text) {
    AnswerReader reader(options);
    const std::string content = reader.push(text).content;
    return content + reader.finish().content;
  };
  AnswerReader::Options options = options_of(kHermes);
  const std::string begun = "<tool_call>\n{\"na", mark = "<too";
  EXPECT_EQ(content_of(options, begun), begun);
  options.is_certain = true;
  EXPECT_EQ(content_of(options, begun), "");
  EXPECT_EQ(content_of(options, mark), mark) << "it may be content";
  options.has_only_calls = true;
  EXPECT_EQ(content_of(options, mark), "");
}

}  // namespace
}  // namespace dikkat::serve
