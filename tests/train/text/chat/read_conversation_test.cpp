#include "train/text/chat/read_conversation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/text/chat/read_messages.h"

// Examples of JSONL and their messages: each key is used, refused by name, or counted.
namespace dikkat {
namespace {

using nlohmann::json;

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
bool starts_with_path(const std::string& text, const std::string& path) { return text.starts_with(path + ' '); }

TEST(Conversation, IsToldByItsFields) {
  EXPECT_EQ(read(R"({"prompt": "1+1", "completion": "2"})").messages, (std::vector<Message>{{"user", "1+1"}, {"assistant", "2"}}));
  EXPECT_EQ(read(R"({"text": "once"})").text, "once");
  EXPECT_EQ(read(R"({"text": "once", "messages": null, "prompt": null, "completion": null})").text, "once")
      << "null: a column that this row lacks";
  EXPECT_TRUE(is_conversation(json::parse(R"({"messages": []})")));
  EXPECT_FALSE(is_conversation(json::parse(R"({"text": "once"})")));
  EXPECT_FALSE(is_conversation(json::parse("[1]")));
  const std::string both = R"({"prompt": "a", "completion": "b", "messages": 7})";
  EXPECT_FALSE(is_conversation(json::parse(both), "completion")) << "the user names it as the text";
  EXPECT_EQ(read(both, "completion").text, "b");
}

TEST(Conversation, RefusesWhatItIsNot) {
  EXPECT_EQ(refusal("["), "column 2: not valid JSON: unexpected end of the line; expected '[', '{', or a literal");
  EXPECT_EQ(refusal("[3]"), "is a JSON array, expected an object on each line");
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": 7})"), "messages"));
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [7]})"), "messages[0]"));
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [{"role": "tool", "content": "x"}]})"), "messages[0].role"));
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [{"role": "developer", "content": "x"}]})"), "messages[0].role"));
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [{"role": "user"}]})"), "messages[0].content"));
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [{"role": "user", "content": null}]})"), "messages[0].content"));
  EXPECT_TRUE(
      starts_with_path(refusal(R"({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]})"), "messages[1]"));
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": "x"}]})"),
            "has no message of the role assistant, so there is nothing to learn");
  EXPECT_TRUE(refusal(R"({"messages": [], "completion": "x"})").starts_with("has \"messages\" and \"completion\""));
  EXPECT_TRUE(starts_with_path(refusal(R"({"prompt": [], "completion": "x"})"), "\"prompt\""));
  EXPECT_EQ(refusal(R"({"question": "x"})"),
            R"(has the field "question"; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
}

TEST(Conversation, NamesTheFieldsThatItDoesNotKnowAndGuesses) {
  EXPECT_EQ(refusal(R"({"instruction": "a", "output": "b"})"),
            R"(has the fields "instruction", "output"; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
  EXPECT_EQ(
      refusal(R"({"mesages": []})"),
      R"(has the field "mesages"; expected "messages", "prompt" and "completion", or "text" (data.text_field); did you mean "messages"?)");
  EXPECT_EQ(
      refusal(R"({"Body_": "a", "id": 1})", "body"),
      R"(has the fields "Body_", "id"; expected "messages", "prompt" and "completion", or "body" (data.text_field); did you mean "body"?)");
  EXPECT_EQ(refusal("{}"), R"(has no fields; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
  EXPECT_EQ(unknown_fields(json::parse(R"({"prompt": "a"})"), "text"),
            R"(has the field "prompt"; expected "messages", "prompt" and "completion", or "text" (data.text_field))")
      << "a correct name is not a misspelling";
  EXPECT_TRUE(refusal(R"({"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0})")
                  .starts_with(R"(has the fields "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more; expected)"));
}

TEST(Conversation, FollowsWhatTheDataSaysOfLearning) {
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
    EXPECT_TRUE(starts_with_path(refusal(answer_with(mark)), "messages[1].weight")) << refusal(answer_with(mark));
  }
  EXPECT_TRUE(starts_with_path(refusal(answer_with(R"("weight": 1, "train": false)")), "messages[1].train"));
  const std::string user = R"({"messages": [{"role": "user", "content": "x", "train": true}, {"role": "assistant", "content": "y"}]})";
  EXPECT_EQ(read(user).messages[0].learn, true);
  EXPECT_EQ(found_in(user).learnt_anyway, 1);
  for (const char* mark : {R"("label": false)", R"("label": 0)", R"("weight": 0)"}) {
    for (const std::string begin : {R"({"prompt": "x", "completion": "y", )", R"({"text": "x", )"}) {
      EXPECT_FALSE(read(begin + mark + "}").learn) << mark;
      EXPECT_EQ(found_in(begin + mark + "}").left_out, 1) << mark;
    }
  }
  EXPECT_TRUE(read(R"({"prompt": "x", "completion": "y", "label": true})").learn);
  EXPECT_TRUE(starts_with_path(refusal(R"({"prompt": "x", "completion": "y", "label": "good"})"), "label"));
}

TEST(Conversation, RefusesKeysThatWouldChangeWhatIsLearnt) {
  for (const char* key : {"tool_calls", "function_call", "tool_call_id", "reasoning_content", "reasoning", "thinking", "images", "audio",
                          "prefix", "refusal", "file", "train_detail", "loss_mask", "tools"}) {
    const std::string given = refusal(answer_with(concat('"', key, R"(": ["x"])")));
    EXPECT_TRUE(starts_with_path(given, concat("messages[1].", key))) << given;
    for (const char* nothing : {"null", "[]", "\"\"", "false"}) {
      EXPECT_EQ(found_in(answer_with(concat('"', key, "\": ", nothing))).unused.size(), 0U) << key;
    }
  }
  for (const char* key : {"tools", "functions", "system", "chosen", "rejected", "reasoning_content", "images", "audio", "documents",
                          "history", "chat_template_kwargs"}) {
    for (const char* begin :
         {R"({"messages": [{"role": "assistant", "content": "y"}])", R"({"prompt": "x", "completion": "y")", R"({"text": "x")"}) {
      const std::string given = refusal(concat(begin, ", \"", key, "\": [\"x\"]}"));
      EXPECT_TRUE(starts_with_path(given, key)) << given;
    }
  }
  EXPECT_TRUE(
      starts_with_path(refusal(R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [1]}]})"), "messages[0].tool_calls"))
      << "an empty answer would be learnt";
  EXPECT_TRUE(starts_with_path(refusal(R"({"messages": [{"role": "assistant", "tool_calls": [1]}]})"), "messages[0].tool_calls"))
      << "which is why it lacks a content";
  EXPECT_TRUE(starts_with_path(refusal(R"({"prompt": "x", "chosen": "y", "rejected": "z"})"), "chosen"));
}

TEST(Conversation, CountsKeysWithoutAnEffect) {
  ExampleFindings found;
  for (int i = 0; i < 2; ++i) {
    read_conversation(
        R"({"id": 7, "source": "a", "file": "x.txt", "prompt": "x", "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "k": 1}]},
        {"role": "assistant", "content": "y", "name": "z", "date": null}]})",
        "text", found);
  }
  EXPECT_EQ(
      found.unused_keys(),
      R"("file" on 2 lines, "id" on 2 lines, "prompt" on 2 lines, "source" on 2 lines, "name" in 2 messages, "k" in 2 parts of messages)");
  ASSERT_EQ(found.notes().size(), 1U);
  EXPECT_TRUE(found.notes()[0].ends_with(found.unused_keys()));
  EXPECT_EQ(found_in(R"({"prompt": "x", "completion": "y"})").notes().size(), 0U);
  ExampleFindings many;
  read_conversation(R"({"text": "x", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "k": 1, "l": 1})",
                    "text", many);
  EXPECT_TRUE(many.unused_keys().ends_with("\"j\" on 1 line and 2 more")) << many.unused_keys();
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

TEST(Messages, JoinPartsOfText) {
  const auto of_parts = [](const std::string& parts) {
    ExampleFindings found;
    return read_messages(json::parse(R"([{"role": "user", "content": )" + parts + "}]"), MessageSource::example, "messages", found)[0]
        .content;
  };
  const auto refused = [&](const std::string& parts) { return input_error_of([&] { of_parts(parts); }); };
  EXPECT_EQ(of_parts(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "image_url": null}])"), "ab");
  EXPECT_EQ(of_parts("[]"), "");
  EXPECT_TRUE(starts_with_path(refused(R"(["a"])"), "messages[0].content[0]"));
  EXPECT_TRUE(starts_with_path(refused(R"([{"text": "a"}])"), "messages[0].content[0].type"));
  EXPECT_TRUE(starts_with_path(refused(R"([{"type": "image_url", "image_url": {}}])"), "messages[0].content[0].type"));
  EXPECT_TRUE(starts_with_path(refused(R"([{"type": "text", "text": "a", "thinking": "b"}])"), "messages[0].content[0].thinking"));
  EXPECT_TRUE(starts_with_path(refused(R"([{"type": "text", "text": "a", "weight": 0}])"), "messages[0].content[0]"));
  EXPECT_TRUE(starts_with_path(refused(R"([{"type": "text"}])"), "messages[0].content[0].text"));
}

}  // namespace
}  // namespace dikkat
