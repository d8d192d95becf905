#include "train/text/scripts.h"

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Characters = std::vector<std::pair<char32_t, index>>;

TEST(Scripts, AreSummedUpWithTheMostFrequentFirst) {
  const Characters characters{{U' ', 100}, {U'a', 7}, {U'\u00DF', 2}, {U'\u0416', 20}, {U'\u6C34', 3}, {U'1', 1}, {U'\u3042', 1}};
  EXPECT_EQ(count_scripts(characters),
            (std::vector<ScriptCount>{{"Common", 101}, {"Cyrillic", 20}, {"Latin", 9}, {"Han", 3}, {"Hiragana", 1}}));
}

TEST(Scripts, NoCharacterIsLost) {
  const Characters characters{
      {U'\u16A0', 2} /* a rune */, {U'\u0301', 5} /* a mark */, {0x1F600, 1}, {0xE000, 4} /* private use */, {0, 1}};
  EXPECT_EQ(count_scripts(characters), (std::vector<ScriptCount>{{"Common", 7}, {"other", 6}}));
  EXPECT_TRUE(count_scripts({}).empty());
}

}  // namespace
}  // namespace dikkat
