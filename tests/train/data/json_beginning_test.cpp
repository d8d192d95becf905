#include "train/data/json_beginning.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(JsonBeginning, IsAnObjectWithAKnownFieldOrAnArrayOfSuch) {
  for (const char* field : {"messages", "prompt", "completion", "text", "conversations"}) {
    EXPECT_EQ(json_beginning("\n {\"id\": {\"x\": [1]}, \"" + std::string(field) + "\": 3}\r\nmore"), JsonBeginning::line) << field;
  }
  EXPECT_EQ(json_beginning("{\n \"messages\": [\n]}\n{\n"), JsonBeginning::object);
  EXPECT_EQ(json_beginning("[\n {\"id\": 1, \"text\": \"a\"},\n {}]"), JsonBeginning::list);
  EXPECT_EQ(json_beginning(R"({"body": 1})", "body"), JsonBeginning::line);
}

TEST(JsonBeginning, IsNothingElse) {
  for (const char* text : {"", " \n", "the lamp", "{", "[", "{}", "[]", "{ a brace", R"({"text" is a word})", "{\"text\": 1} and more\n",
                           R"([1, {"text": 1}])", R"([[{"text": 1}]])", R"({"body": 1})", R"({"body": {"text": 1}})",
                           R"([{"body": 1}, {"a": 1}])", R"(["text"])", R"({"text": 1)", "{\"text\": 1\nthe lamp"}) {
    EXPECT_EQ(json_beginning(text), JsonBeginning::none) << text;
  }
}

TEST(JsonBeginning, TakesTheFirstBytesOfALongLineForAll) {
  const std::string words(std::size_t{1} << 20, 'x');
  EXPECT_EQ(json_beginning("{\"text\": \"" + words + "\"}"), JsonBeginning::line);
  EXPECT_EQ(json_beginning("[{\"text\": \"" + words + "\"}]"), JsonBeginning::list);
  EXPECT_EQ(json_beginning("{\"a\": \"" + words + "\", \"text\": 1}"), JsonBeginning::none) << "the field is too far off";
  EXPECT_EQ(json_beginning("{\"text\": x" + words), JsonBeginning::none);
}

}  // namespace
}  // namespace dikkat
