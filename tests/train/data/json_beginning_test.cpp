#include "train/data/corpus/json_beginning.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Keys = std::vector<std::string>;

TEST(JsonBeginning, HasTheKeysOfTheFirstObject) {
  const JsonBeginning line = json_beginning("\n {\"id\": {\"x\": [1]}, \"messages\": 3}\r\n{\"other\": 1}\n");
  EXPECT_TRUE(line.is_json);
  EXPECT_EQ(line.form, ObjectForm::lines);
  EXPECT_EQ(line.keys, (Keys{"id", "messages"}));
  EXPECT_EQ(json_beginning("{\n \"messages\": [\n]}\n{\n").form, ObjectForm::stream);
  const JsonBeginning list = json_beginning("[\n {\"id\": 1, \"text\": {\"x\": 1}},\n {\"b\": 1}]");
  EXPECT_EQ(list.form, ObjectForm::array);
  EXPECT_EQ(list.keys, (Keys{"id", "text"}));
}

TEST(JsonBeginning, IsJsonWithoutObjects) {
  for (const char* text : {"[]", "[1, 2]", R"(["text"])", R"([1, {"text": 1}])", R"([[{"text": 1}]])"}) {
    EXPECT_TRUE(json_beginning(text).is_json) << text;
    EXPECT_EQ(json_beginning(text).form, ObjectForm::none) << text;
  }
}

TEST(JsonBeginning, IsNoOtherText) {
  for (const char* text : {"", " \n", "the lamp", "{", "[", "{ a brace", R"({"text" is a word})", "{\"text\": 1} and more\n",
                           R"({"text": 1)", "{\"text\": 1\nthe lamp", "[1] a footnote", "[Scene: a castle]", "\"a\""}) {
    EXPECT_FALSE(json_beginning(text).is_json) << text;
    EXPECT_EQ(json_beginning(text).form, ObjectForm::none) << text;
  }
}

TEST(JsonBeginning, TakesTheFirstBytesOfALongTextForAll) {
  const std::string words(kJsonBeginning, 'x');
  EXPECT_EQ(json_beginning("{\"text\": \"" + words + "\"}").form, ObjectForm::lines);
  EXPECT_EQ(json_beginning("[{\"text\": \"" + words + "\"}]").form, ObjectForm::array);
  EXPECT_EQ(json_beginning("{\"a\": \"" + words + "\", \"text\": 1}").keys, Keys{"a"}) << "the key is too far off";
  EXPECT_FALSE(json_beginning("{\"text\": x" + words).is_json);
}

}  // namespace
}  // namespace dikkat
