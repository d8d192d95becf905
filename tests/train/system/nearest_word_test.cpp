#include "train/system/nearest_word.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("abc", "acb"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(NearestWord, IsOneThatWasProbablyMeant) {
  const std::string_view words[] = {"messages", "prompt", "completion", "text"};
  EXPECT_EQ(nearest_word(words, "mesages"), "messages");
  EXPECT_EQ(nearest_word(words, "Mess-ages"), "messages");
  EXPECT_EQ(nearest_word(words, "compl"), "completion") << "a beginning";
  EXPECT_EQ(nearest_word(words, "conversations"), "");
  EXPECT_EQ(nearest_word(words, ""), "");
  EXPECT_EQ(nearest_word(words, std::string(100'000, 'm')), "") << "in no time";
}

}  // namespace
}  // namespace dikkat
