#include "train/chat/read_conversation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/chat/read_messages.h"

// Examples of JSONL and their messages: each key is used, refused by name, or counted.
namespace dikkat {
namespace {

using nlohmann::json;
using testing::names;

Conversation read(const std::string& line, const std::string& text_field = "text") {
  ExampleFindings found;
  return read_conversation(line, text_field, found);
}
ExampleFindings found_in(const std::string& line) {
  ExampleFindings found;
  read_conversation(line, "text", found);
  return found;
}
std::string refusal(const std::string& line, const std::string& text_field = "text") {
  return input_error_of([&] { read(line, text_field); });
}
/// A conversation whose answer has more keys.
std::string answer_with(const std::string& keys) {
  return R"({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", )" + keys + "}]}";
}
/// Whether a refusal is about the value at the path: it names the path, and nothing below it.
bool is_about(const std::string& text, const std::string& path) {
  const std::size_t at = text.find(path), end = at + path.size();
  return at != std::string::npos && (end == text.size() || text[end] == ' ' || text[end] == ',' || text[end] == ':');
}

TEST(Conversation, IsRecognizedByItsFields) {
  EXPECT_EQ(read(R"({"prompt": "1+1", "completion": "2"})").messages, (std::vector<Message>{{"user", "1+1"}, {"assistant", "2"}}));
  EXPECT_EQ(read(R"({"text": "once"})").text, "once");
  EXPECT_EQ(read(R"({"text": "once", "messages": null, "prompt": null, "completion": null})").text, "once")
      << "null: a column that this row lacks";
  EXPECT_TRUE(is_conversation(nlohmann::ordered_json::parse(R"({"messages": []})")));
  EXPECT_FALSE(is_conversation(nlohmann::ordered_json::parse(R"({"text": "once"})")));
  EXPECT_FALSE(is_conversation(nlohmann::ordered_json::parse("[1]")));
  const std::string both = R"({"prompt": "a", "completion": "b", "messages": 7})";
  EXPECT_FALSE(is_conversation(nlohmann::ordered_json::parse(both), "completion")) << "the user names it as the text";
  EXPECT_EQ(read(both, "completion").text, "b");
}

TEST(Conversation, KeepsTheDigitsOfIntegersInCallsAndTools) {
  const std::string number = "123456789012345678901234567890";
  const std::string call = R"("tool_calls": [{"function": {"name": "f", "arguments": )";
  for (const std::string& arguments : {"{\"id\": " + number + "}", R"("{\"id\": )" + number + "}\""}) {
    EXPECT_TRUE(names(read(answer_with(call + arguments + "}}]")).messages.back().fields, {"\"id\":" + number + "}"})) << arguments;
  }
  const std::string tools = R"("tools": [{"minimum": -)" + number + "}], ";
  EXPECT_EQ(read("{" + tools + answer_with("\"weight\": 1").substr(1)).tools, R"([{"minimum":-)" + number + "}]");
}

TEST(Conversation, RefusesObjectsThatAreNotConversations) {
  EXPECT_TRUE(names(refusal("["), {"column 2", "JSON"}));
  EXPECT_TRUE(names(refusal("[3]"), {"array", "object"}));
  EXPECT_TRUE(is_about(refusal(R"({"messages": 7})"), "messages"));
  EXPECT_TRUE(is_about(refusal(R"({"messages": [7]})"), "messages[0]"));
  EXPECT_TRUE(is_about(refusal(R"({"messages": [{"role": "critic", "content": "x"}]})"), "messages[0].role"));
  EXPECT_TRUE(is_about(refusal(R"({"messages": [{"role": "user"}]})"), "messages[0].content"));
  EXPECT_TRUE(is_about(refusal(R"({"messages": [{"role": "user", "content": null}]})"), "messages[0].content"));
  EXPECT_TRUE(is_about(refusal(R"({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]})"), "messages[1]"));
  EXPECT_TRUE(names(refusal(R"({"messages": [{"role": "user", "content": "x"}]})"), {"no message", "assistant"}));
  EXPECT_TRUE(names(refusal(R"({"messages": [], "completion": "x"})"), {"\"messages\" and \"completion\""}));
  EXPECT_TRUE(is_about(refusal(R"({"prompt": [], "completion": "x"})"), "\"prompt\""));
  EXPECT_TRUE(names(refusal(R"({"question": "x"})"),
                    {"field \"question\"", "\"messages\"", "\"prompt\"", "\"completion\"", "\"text\"", "data.text_field"}));
}

TEST(Conversation, NamesTheFieldsThatItDoesNotKnowAndGuesses) {
  const std::vector<std::string> expected = {"\"messages\"", "\"prompt\"", "\"completion\"", "data.text_field"};
  const auto guesses = [](const std::string& text) { return text.find("did you mean") != std::string::npos; };
  const std::string foreign = refusal(R"({"query": "a", "reply": "b"})");
  EXPECT_TRUE(names(foreign, expected));
  EXPECT_TRUE(names(foreign, {R"("query", "reply")", "\"text\""}));
  EXPECT_FALSE(guesses(foreign)) << foreign;
  const std::string misspelled = refusal(R"({"mesages": []})");
  EXPECT_TRUE(names(misspelled, expected));
  EXPECT_TRUE(names(misspelled, {"\"mesages\"", "\"text\"", "did you mean \"messages\""}));
  const std::string of_body = refusal(R"({"Body_": "a", "id": 1})", "body");
  EXPECT_TRUE(names(of_body, expected));
  EXPECT_TRUE(names(of_body, {R"("Body_", "id")", "or \"body\"", "did you mean \"body\""}));
  EXPECT_TRUE(names(refusal("{}"), expected));
  EXPECT_TRUE(names(refusal("{}"), {"no fields"}));
  const std::string correct = unknown_fields(nlohmann::ordered_json::parse(R"({"prompt": "a"})"), "text");
  EXPECT_TRUE(names(correct, expected));
  EXPECT_FALSE(guesses(correct)) << "a correct name is not a misspelling: " << correct;
  EXPECT_TRUE(names(refusal(R"({"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0})"),
                    {R"("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")", "2 more"}));
}

TEST(Conversation, SendsPreferencesToTheirMethods) {
  const std::vector<std::string> expected = {"preference.method", "\"auto\"",  "\"dpo\"", "\"ipo\"",
                                             "\"orpo\"",          "\"simpo\"", "\"kto\"", "\"none\""};
  EXPECT_TRUE(names(refusal(R"({"prompt": "x", "chosen": "y", "rejected": "z"})"), expected));
  EXPECT_TRUE(names(refusal(R"({"chosen": [], "rejected": []})"), expected));
  const std::string user = R"([{"role": "user", "content": "x"}])", answer = R"([{"role": "assistant", "content": "y"}])";
  EXPECT_TRUE(names(refusal(concat(R"({"prompt": )", user, R"(, "completion": )", answer, R"(, "label": true})")), expected));
  EXPECT_FALSE(names(refusal(concat(R"({"prompt": )", user, R"(, "completion": )", answer, "}")), {"preference.method"}));
}

TEST(Conversation, FollowsTheDatasMarksForLearning) {
  for (const char* mark :
       {R"("weight": 0)", R"("weight": 0.0)", R"("weight": false)", R"("train": false)", R"("loss": false)", R"("loss": 0)"}) {
    EXPECT_EQ(read(answer_with(mark)).messages[1].learn, false) << mark;
    EXPECT_EQ(found_in(answer_with(mark)).context_only, 1) << mark;
    EXPECT_TRUE(read(answer_with(mark)).learn) << mark;
  }
  for (const char* mark : {R"("weight": 1)", R"("train": true)", R"("loss": true, "weight": 1)"}) {
    EXPECT_EQ(read(answer_with(mark)).messages[1].learn, true) << mark;
  }
  EXPECT_EQ(read(answer_with(R"("weight": null)")).messages[1].learn, std::nullopt);
  for (const char* mark : {R"("weight": 0.5)", R"("weight": -1)", R"("weight": "0")", R"("weight": [0])"}) {
    EXPECT_TRUE(is_about(refusal(answer_with(mark)), "messages[1].weight")) << refusal(answer_with(mark));
  }
  EXPECT_TRUE(is_about(refusal(answer_with(R"("weight": 1, "train": false)")), "messages[1].train"));
  const std::string user = R"({"messages": [{"role": "user", "content": "x", "train": true}, {"role": "assistant", "content": "y"}]})";
  EXPECT_EQ(read(user).messages[0].learn, true);
  EXPECT_EQ(found_in(user).learned_anyway, 1);
  const std::string answer = R"({"prompt": "x", "completion": "y", )", text = R"({"text": "x", )";
  for (const std::string& line : {answer + R"("label": false})", answer + R"("label": 0})", answer + R"("weight": 0})",
                                  text + R"("weight": 0})", text + R"("train": false})"}) {
    EXPECT_FALSE(read(line).learn) << line;
    EXPECT_EQ(found_in(line).left_out, 1) << line;
  }
  for (const char* label : {"0", "1", "true", "\"sports\""}) {
    EXPECT_TRUE(is_about(refusal(text + R"("label": )" + label + "}"), "label")) << "a class is not a mark";
  }
  EXPECT_TRUE(is_about(refusal(text + R"("labels": [1]})"), "labels"));
  EXPECT_TRUE(read(R"({"prompt": "x", "completion": "y", "label": true})").learn);
  EXPECT_TRUE(is_about(refusal(R"({"prompt": "x", "completion": "y", "label": "good"})"), "label"));
}

TEST(Conversation, RefusesDeeplyNestedMarks) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& line : {answer_with("\"weight\": " + deep), R"({"text": "x", "label": )" + deep + "}"}) {
    EXPECT_TRUE(names(refusal(line), {"nested", "100"}));
  }
  const std::string allowed = std::string(90, '[') + std::string(90, ']');
  EXPECT_TRUE(is_about(refusal(answer_with("\"weight\": " + allowed)), "messages[1].weight"));
}

TEST(Conversation, RefusesKeysThatWouldChangeTheLearnedTokens) {
  for (const char* key : {"function_call", "tool_call_id", "reasoning_content", "reasoning", "thinking", "images", "audio", "prefix",
                          "refusal", "file", "train_detail", "loss_mask", "tools"}) {
    const std::string given = refusal(answer_with(concat('"', key, R"(": ["x"])")));
    EXPECT_TRUE(is_about(given, concat("messages[1].", key))) << given;
    for (const char* nothing : {"null", "[]", "\"\"", "false"}) {
      EXPECT_EQ(found_in(answer_with(concat('"', key, "\": ", nothing))).unused.size(), 0U) << key;
    }
  }
  for (const char* key : {"tool_calls", "functions", "system", "chosen", "rejected", "reasoning_content", "images", "audio", "documents",
                          "history", "chat_template_kwargs"}) {
    for (const char* begin :
         {R"({"messages": [{"role": "assistant", "content": "y"}])", R"({"prompt": "x", "completion": "y")", R"({"text": "x")"}) {
      const std::string given = refusal(concat(begin, ", \"", key, "\": [\"x\"]}"));
      EXPECT_TRUE(is_about(given, key)) << given;
    }
  }
  EXPECT_TRUE(is_about(refusal(R"({"prompt": "x", "chosen": "y", "rejected": "z"})"), "\"chosen\""));
}

TEST(Conversation, CountsKeysWithoutAnEffect) {
  ExampleFindings found;
  for (int i = 0; i < 2; ++i) {
    read_conversation(
        R"({"id": 7, "source": "a", "file": "x.txt", "prompt": "x", "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "k": 1}]},
        {"role": "assistant", "content": "y", "name": "z", "date": null}]})",
        "text", found);
  }
  EXPECT_TRUE(names(found.unused_keys(), {R"("file" on 2 lines)", R"("id" on 2 lines)", R"("prompt" on 2 lines)", R"("source" on 2 lines)",
                                          R"("name" in 2 messages)", R"("k" in 2 parts)"}));
  ASSERT_EQ(found.notes().size(), 1U);
  EXPECT_TRUE(names(found.notes()[0], {found.unused_keys()}));
  EXPECT_EQ(found_in(R"({"prompt": "x", "completion": "y"})").notes().size(), 0U);
  ExampleFindings many;
  read_conversation(R"({"text": "x", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "k": 1, "l": 1})",
                    "text", many);
  EXPECT_TRUE(names(many.unused_keys(), {"\"j\" on 1 line", "2 more"}));
}

TEST(Conversation, CountsLineBreaksOfWindows) {
  EXPECT_EQ(found_in(R"({"prompt": "a\r\nb", "completion": "y"})").windows_lines, 1);
  EXPECT_EQ(found_in(R"({"text": "a\r\nb\r\n"})").windows_lines, 1);
  const ExampleFindings found = found_in(
      R"({"messages": [{"role": "user", "content": "a\r\nb"}, {"role": "assistant", "content": "c\r\n"}, {"role": "user", "content": "d\n"}]})");
  EXPECT_EQ(found.windows_lines, 2);
  ASSERT_EQ(found.notes().size(), 1U);
  EXPECT_TRUE(found.notes()[0].starts_with("2 ")) << found.notes()[0];
}

TEST(Conversation, CountsAnswersWithoutText) {
  EXPECT_EQ(found_in(R"({"prompt": "x", "completion": " \n"})").empty_answers, 1);
  EXPECT_EQ(found_in(R"({"instruction": "x", "output": ""})").empty_answers, 1);
  const ExampleFindings found = found_in(
      R"({"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}, {"role": "user", "content": "b"}, {"role": "assistant", "content": ""}]})");
  EXPECT_EQ(found.empty_answers, 2);
  ASSERT_EQ(found.notes().size(), 1U);
  EXPECT_TRUE(found.notes()[0].starts_with("2 ")) << found.notes()[0];
  EXPECT_EQ(found_in(R"({"prompt": "x", "completion": "y"})").empty_answers, 0);
  EXPECT_EQ(found_in(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "", "reasoning_content": "b"}]})")
                .empty_answers,
            0);
  EXPECT_EQ(found_in(R"({"prompt": "x", "completion": "", "train": false})").empty_answers, 0) << "no step trains on it";
}

TEST(Messages, KeepPartsOfText) {
  const auto of_parts = [](const std::string& parts) {
    ExampleFindings found;
    return read_messages(nlohmann::ordered_json::parse(R"([{"role": "user", "content": )" + parts + "}]"), "messages", found)[0];
  };
  const auto refused = [&](const std::string& parts) { return input_error_of([&] { of_parts(parts); }); };
  const Message two = of_parts(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "image_url": null}])");
  EXPECT_EQ(two.content, "a\nb");
  EXPECT_EQ(two.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(of_parts("[]"), (Message{"user", ""}));
  EXPECT_EQ(of_parts("\"a\""), (Message{"user", "a"}));
  EXPECT_TRUE(is_about(refused(R"(["a"])"), "messages[0].content[0]"));
  EXPECT_TRUE(is_about(refused(R"([{"text": "a"}])"), "messages[0].content[0].type"));
  EXPECT_TRUE(is_about(refused(R"([{"type": "image_url", "image_url": {}}])"), "messages[0].content[0].type"));
  EXPECT_TRUE(is_about(refused(R"([{"type": "text", "text": "a", "thinking": "b"}])"), "messages[0].content[0].thinking"));
  EXPECT_TRUE(is_about(refused(R"([{"type": "text", "text": "a", "weight": 0}])"), "messages[0].content[0]"));
  EXPECT_TRUE(is_about(refused(R"([{"type": "text"}])"), "messages[0].content[0].text"));
}

TEST(Messages, HaveToolsCallsAndReasoning) {
  const Conversation talk = read(R"({"tools": [{"type": "function", "function": {"name": "f", "b": 1, "a": 2}}], "messages": [
      {"role": "developer", "content": "d"}, {"role": "user", "content": "u"},
      {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"z\": 1, \"y\": 2}"}}]},
      {"role": "tool", "tool_call_id": "1", "name": "f", "content": "3"}, {"role": "assistant", "content": "4"}]})");
  EXPECT_EQ(talk.tools, R"([{"type":"function","function":{"name":"f","b":1,"a":2}}])") << "in the order of the file";
  ASSERT_EQ(talk.messages.size(), 5U);
  EXPECT_EQ(talk.messages[0].role, "developer");
  EXPECT_EQ(talk.messages[2].fields,
            R"({"reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"z":1,"y":2}}}]})");
  EXPECT_EQ(talk.messages[3].fields, R"({"tool_call_id":"1","name":"f"})");
  for (const auto& [calls, path] : std::initializer_list<std::pair<const char*, const char*>>{
           {"[1]", "messages[0].tool_calls[0]"},
           {"7", "messages[0].tool_calls"},
           {R"([{"function": {"arguments": {}}}])", "messages[0].tool_calls[0]"},
           {R"([{"function": {"name": "f", "arguments": "{"}}])", "messages[0].tool_calls[0].function.arguments"},
           {R"([{"function": {"name": "f", "arguments": [1]}}])", "messages[0].tool_calls[0].function.arguments"},
       }) {
    const std::string said = refusal(concat(R"({"messages": [{"role": "assistant", "content": "", "tool_calls": )", calls, "}]}"));
    EXPECT_TRUE(is_about(said, path)) << said;
  }
  EXPECT_TRUE(is_about(refusal(R"({"messages": [{"role": "user", "content": "x", "tool_calls": [{"function": {"name": "f"}}]}]})"),
                       "messages[0].tool_calls"));
  EXPECT_TRUE(is_about(refusal(answer_with(R"("tool_call_id": "7")")), "messages[1].tool_call_id"));
  EXPECT_TRUE(is_about(refusal(R"({"tools": {"a": 1}, "messages": [{"role": "assistant", "content": "y"}]})"), "tools"));
}

TEST(Conversation, ReadsShareGptAndAlpaca) {
  const std::vector<Message> talk = {{"system", "s"}, {"user", "u"}, {"assistant", "a"}};
  EXPECT_EQ(read(R"({"conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "u"}, {"from": "gpt", "value": "a"}]})")
                .messages,
            talk);
  EXPECT_EQ(read(R"({"system": "s", "conversations": [{"from": "user", "value": "u"}, {"from": "assistant", "value": "a"}]})").messages,
            talk);
  EXPECT_EQ(read(R"({"conversations": [{"from": "gpt", "value": "a", "weight": 0}]})").messages[0].learn, false);
  EXPECT_TRUE(is_about(refusal(R"({"conversations": [{"from": "function_call", "value": "{}"}]})"), "conversations[0].from"));
  EXPECT_TRUE(is_about(refusal(R"({"conversations": [{"from": "gpt", "value": 7}]})"), "conversations[0].value"));
  EXPECT_TRUE(is_about(refusal(R"({"conversations": [{"from": "gpt", "value": "x", "images": ["y"]}]})"), "conversations[0].images"));
  EXPECT_EQ(read(R"({"instruction": "i", "input": "", "output": "o"})").messages,
            (std::vector<Message>{{"user", "i"}, {"assistant", "o"}}));
  EXPECT_EQ(read(R"({"instruction": "i", "input": "x", "output": "o", "system": "s", "history": [["a", "b"]]})").messages,
            (std::vector<Message>{{"system", "s"}, {"user", "a"}, {"assistant", "b"}, {"user", "i\nx"}, {"assistant", "o"}}));
  EXPECT_TRUE(names(refusal(R"({"instruction": "i", "output": "o", "history": [["a"]]})"), {"history"}));
  EXPECT_TRUE(is_conversation(nlohmann::ordered_json::parse(R"({"instruction": "i", "output": "o"})")));
  EXPECT_TRUE(is_conversation(nlohmann::ordered_json::parse(R"({"conversations": []})")));
}

Conversation unanswered(const std::string& line) {
  ExampleFindings found;
  return read_unanswered(nlohmann::ordered_json::parse(line), found);
}

TEST(Unanswered, IsReadInTheFormsOfExamplesWithoutTheAnswer) {
  const std::vector<Message> hi = {{"user", "hi"}}, with_system = {{"system", "be brief"}, {"user", "hi"}};
  EXPECT_EQ(unanswered(R"({"id": 7, "label": 3, "messages": [{"role": "user", "content": "hi"}], "answer": {}})").messages, hi);
  EXPECT_EQ(unanswered(R"({"prompt": [{"role": "user", "content": "hi"}], "messages": null})").messages, hi);
  EXPECT_EQ(unanswered(R"({"conversations": [{"from": "human", "value": "hi"}], "system": "be brief"})").messages, with_system);
  EXPECT_EQ(unanswered(R"({"instruction": "hi", "output": "not read", "input": ""})").messages, hi);
  const Conversation text = unanswered(R"({"prompt": "hi", "completion": "not read"})");
  EXPECT_EQ(text.text, "hi");
  EXPECT_TRUE(text.messages.empty());
  EXPECT_EQ(unanswered(R"({"prompt": "hi", "tools": [{"type": "function"}]})").tools, R"([{"type":"function"}])");
}

TEST(Unanswered, RefusesWhatAsksNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "no fields"},
      {R"({"text": "hi"})", "\"text\""},
      {R"({"prompt": ""})", "\"prompt\""},
      {R"({"prompt": 7})", "\"prompt\""},
      {R"({"messages": []})", "messages"},
      {R"({"messages": "hi"})", "messages"},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content"},
      {R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})", "assistant"},
      {R"({"messages": [{"role": "system", "content": "be brief"}]})", "system"},
      {R"({"messages": [{"role": "user", "content": "hi"}, {"role": "system", "content": "x"}, {"role": "user", "content": "y"}]})",
       "messages[1]"},
      {R"({"conversations": [{"from": "gpt", "value": "hi"}]})", "assistant"},
  };
  for (const auto& [line, fragment] : cases) {
    EXPECT_TRUE(names(input_error_of([&line = line] { unanswered(line); }), {fragment})) << line;
  }
}

}  // namespace
}  // namespace dikkat
