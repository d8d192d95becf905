#include "train/data/corpus/placed_texts.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"

// Texts of files for classify and embed.
namespace dikkat {
namespace {

using testing::names;

class TextsOfFiles : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& name, const std::string& contents, const TextColumn& column = {}) const {
    folder.write(name, contents);
    std::vector<std::string> texts;
    for (const PlacedText& one : read_texts(folder.path(name), column)) {
      texts.push_back(one.text);
    }
    return texts;
  }
  std::string refusal(const std::string& name, const std::string& contents, const TextColumn& column = {}) const {
    return input_error_of([&] { read(name, contents, column); });
  }

  TemporaryFolder folder;
};

TEST_F(TextsOfFiles, AreRowsObjectsOrLines) {
  EXPECT_EQ(read("a.csv", "text,label\nhello,ham\n"), std::vector<std::string>{"hello"});
  EXPECT_EQ(read("b.txt",
                 "\xEF\xBB\xBF"
                 "first\r\nsecond\n"),
            (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(read("c.json", R"([{"text": "one"}, {"text": "two"}])"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(read("d.csv", "text,Body\na,b\n", {.name = "Body"}), std::vector<std::string>{"b"});
  // A key that the run has named may be missing, but not one that the user has just named.
  EXPECT_EQ(read("e.jsonl", R"({"text": "a"})", {.name = "Body"}), std::vector<std::string>{"a"});
  EXPECT_EQ(read("f.jsonl", R"({"text": "a", "Body": "b"})", {.name = "Body"}), std::vector<std::string>{"b"});
  EXPECT_TRUE(names(refusal("g.jsonl", R"({"text": "a"})", {.name = "Body", .option = "--column", .is_strict = true}),
                    {"g.jsonl: line 1", "Body", "--column"}));
}

TEST_F(TextsOfFiles, AreRefusedWithTheirPlace) {
  EXPECT_TRUE(names(refusal("a.txt", "first\n\nthird\n"), {"a.txt: line 2"}));
  EXPECT_TRUE(names(refusal("b.csv", "text\na\n\" \"\n"), {"b.csv", "row 3"}));
  EXPECT_TRUE(names(refusal("c.txt", "a\n\xFFz\n"), {"c.txt: line 2", "UTF-8"}));
  EXPECT_TRUE(names(refusal("d.txt", ""), {"d.txt"}));
}

}  // namespace
}  // namespace dikkat
