#include "train/assistant/chats.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/assistant/assumptions.h"
#include "train/assistant/plan.h"

namespace dikkat::assistant {
namespace {

class AssistantChats : public ::testing::Test {
 protected:
  std::string write(const std::string& name, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += concat(R"({"prompt": "What is )", i, R"(?", "completion": "It is {name} )", i, ".\"}\n");
    }
    return folder.write(name, text);
  }
  static index lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

  const TemporaryFolder folder;
  const ShippedData none = [](const char* name) -> std::string { throw std::logic_error(name); };
};

TEST_F(AssistantChats, EveryTenthIsHeldOut) {
  const Chats chats = read_chats({.chats = write("chats.jsonl", 40), .name = "Ada"}, none);
  EXPECT_EQ(chats.conversations, 36);
  EXPECT_EQ(chats.messages, 72);
  EXPECT_EQ(lines_of(chats.learned), 36);
  EXPECT_EQ(lines_of(chats.held_out), 4);
  EXPECT_NE(chats.learned.find("{name}"), std::string::npos) << "only dikkat's own chats have a name to fill in";
  const Tasks tasks = tasks_of(chats, 1000);
  EXPECT_EQ(tasks.asked, 4);
  EXPECT_EQ(lines_of(tasks.lines), 8) << "each is chosen and written";
  EXPECT_EQ(tasks_of(chats, 10).asked, 0) << "no question fits";
}

TEST_F(AssistantChats, TablesAreTheirJsonl) {
  std::string table = "question;answer\r\n";
  for (int i = 0; i < 40; ++i) {
    table += concat("What is ", i, "?;It is {name} ", i, ".\r\n");
  }
  const Chats chats = read_chats({.chats = folder.write("chats.csv", table)}, none);
  const Chats of_lines = read_chats({.chats = write("chats.jsonl", 40)}, none);
  EXPECT_EQ(chats.conversations, of_lines.conversations);
  EXPECT_EQ(chats.bytes, of_lines.bytes);
  EXPECT_EQ(tasks_of(chats, 1000).lines, tasks_of(of_lines, 1000).lines);
  EXPECT_NE(chats.learned.find(R"({"prompt":"What is 3?","completion":"It is {name} 3."})"), std::string::npos) << "they are kept as JSONL";
  EXPECT_NE(chats.note.find("prompt=question,completion=answer"), std::string::npos);
}

TEST_F(AssistantChats, FewAreAllLearnedAndManyHoldOutAboutAHundred) {
  EXPECT_EQ(read_chats({.chats = write("few.jsonl", static_cast<int>(kFewestChats) - 1)}, none).held_out, "");
  EXPECT_NEAR(static_cast<double>(read_chats({.chats = write("many.jsonl", 2500)}, none).questions.size()), kMostHeldOut, 5);
}

TEST_F(AssistantChats, OwnOnesHaveTheName) {
  const Chats chats = read_chats({.name = "Ada \"L\""}, [&](const char* name) { return write(name, 10); });
  EXPECT_EQ(chats.conversations, 18) << "two files come with the program";
  EXPECT_EQ(chats.learned.find("{name}"), std::string::npos);
  EXPECT_NE(chats.learned.find(R"(It is Ada \"L\" 3.)"), std::string::npos);
}

TEST_F(AssistantChats, SomeLinesAreSpreadOverTheFile) {
  const std::string some = some_lines(write("all.jsonl", 40), 10);
  EXPECT_EQ(lines_of(some), 10);
  EXPECT_TRUE(some.find("What is 0?") != std::string::npos && some.find("What is 36?") != std::string::npos);
}

}  // namespace
}  // namespace dikkat::assistant
