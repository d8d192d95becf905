#include "train/config/advice.h"

#include "tests/train/config/support.h"

namespace dikkat::schema {
namespace {

TEST(NearestKey, FindsEveryKeyWithALetterMissingOrSwapped) {
  for (const Key& key : keys()) {
    const std::string name(key.name);
    if (name.size() < 4) {
      continue;
    }
    for (std::size_t i = 1; i < name.size(); ++i) {
      std::string missing = name;
      missing.erase(i, 1);
      std::string swapped = name;
      std::swap(swapped[i - 1], swapped[i]);
      for (const std::string& typo : {missing, swapped}) {
        const bool is_ambiguous = typo == "beta" || typo == "top_";  // as near to beta1 as to beta2
        if (find_key(key.section, typo) == nullptr && !is_ambiguous) {
          EXPECT_EQ(nearest_key(key.section, typo), key.path()) << typo;
        }
      }
    }
  }
}

TEST(NearestKey, LooksInOtherSectionsToo) {
  EXPECT_EQ(nearest_key("train", "learnin_rate"), "optim.learning_rate");
  EXPECT_EQ(nearest_key("", "blocksize"), "model.block_size");
  EXPECT_EQ(nearest_key("tokenizer", "kinds"), "tokenizer.kind");
  EXPECT_EQ(nearest_key("model", "kinds"), "model.kind");
}

TEST(NearestKey, IsAbsentIfNothingIsNear) {
  for (const char* far : {"bananas", "x", "", "n", "zz", "rotary_dim", "partial_rotary_factor"}) {
    EXPECT_EQ(nearest_key("model", far), "") << far;
  }
  EXPECT_EQ(nearest_key("model", std::string(100'000, 'n')), "");
}

}  // namespace
}  // namespace dikkat::schema
