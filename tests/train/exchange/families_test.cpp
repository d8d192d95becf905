#include <gtest/gtest.h>

#include "train/config/schema.h"
#include "train/exchange/foreign_config.h"

// If an export forgot a key of [model], the file would silently hold another model.
namespace dikkat {
namespace {

using Keys = std::vector<std::string>;

TEST(Families, KnowEveryKeyOfTheModel) {
  for (const Family& family : families()) {
    EXPECT_EQ(unknown_keys(family), Keys()) << family.name;
  }
}

TEST(Families, AKeyThatATableForgetsIsFound) {
  for (Family family : families()) {
    const Family whole = family;
    for (std::size_t i = 0; i + 1 < whole.fixed.size(); ++i) {  // without the first rows
      family.fixed = whole.fixed.subspan(i + 1);
      EXPECT_EQ(unknown_keys(family).size(), i + 1) << family.name << ' ' << whole.fixed[i].key;
    }
    family = whole;
    family.config = whole.config.first(whole.config.size() - 1);
    EXPECT_EQ(unknown_keys(family), Keys{concat("model.", whole.config.back().ours)}) << family.name;
    family = whole;
    if (!whole.gguf.empty()) {
      family.gguf = whole.gguf.subspan(1);
      EXPECT_EQ(unknown_keys(family), Keys{concat("model.", whole.gguf.front().ours)}) << family.name;
    }
  }
}

TEST(Families, NameKeysThatExist) {
  for (const Family& family : families()) {
    for (const FixedKey& fixed : family.fixed) {
      EXPECT_NE(schema::find_key("model", fixed.key), nullptr) << family.name << ' ' << fixed.key;
    }
    for (const std::span<const KeyName> names : {family.config, family.gguf}) {
      for (const KeyName& name : names) {
        EXPECT_NE(schema::find_key("model", name.ours), nullptr) << family.name << ' ' << name.ours;
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
