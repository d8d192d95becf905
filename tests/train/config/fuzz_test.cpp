#include "tests/train/config/support.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/render.h"

namespace dikkat {
namespace {

constexpr std::string_view kPieces[] = {"[",
                                        "]",
                                        "[[",
                                        "]]",
                                        "{",
                                        "}",
                                        "=",
                                        ".",
                                        ",",
                                        "\"",
                                        "'",
                                        "\"\"\"",
                                        "'''",
                                        "\n",
                                        "\r\n",
                                        "#",
                                        "\\",
                                        "\\u",
                                        "\xFF",
                                        "\xC3",
                                        "\xEF\xBB\xBF",
                                        "nan",
                                        "inf",
                                        "-inf",
                                        "1e400",
                                        "1e-400",
                                        "0x",
                                        "0b1",
                                        "true",
                                        "False",
                                        "model",
                                        "1979-05-27",
                                        "07:32:00",
                                        "-9223372036854775809",
                                        "\t",
                                        "_",
                                        "+",
                                        "-",
                                        "😀"};

std::string mutated(std::string text, Dice& dice) {
  for (index edits = 1 + dice.below(4); edits > 0 && !text.empty(); --edits) {
    const auto at = static_cast<std::size_t>(dice.below(std::ssize(text)));
    switch (dice.below(6)) {
      case 0: text.erase(at, static_cast<std::size_t>(1 + dice.below(10))); break;
      case 1: text[at] = static_cast<char>(dice.below(256)); break;
      case 2: text.insert(at, kPieces[static_cast<std::size_t>(dice.below(std::size(kPieces)))]); break;
      case 3:
        text.insert(at, text.substr(static_cast<std::size_t>(dice.below(std::ssize(text))), static_cast<std::size_t>(dice.below(60))));
        break;
      case 4: std::swap(text[at], text[static_cast<std::size_t>(dice.below(std::ssize(text)))]); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

TEST(Fuzz, MutatedFilesAreReadOrRefusedWithAMessage) {
  Dice dice(11);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(to_toml(random_config(dice)), dice);
    try {
      const Config config = parse_config(text, "fuzz.toml");
      ASSERT_EQ(parse_config(to_toml(config), "again"), config) << text;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("fuzz.toml:")) << message << "\nof\n" << text;
      EXPECT_GT(message.size(), 30U);
      EXPECT_EQ(message.find_first_of('\0'), std::string::npos);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 2000);
}

TEST(Fuzz, MutatedOverridesAreReadOrRefusedWithAMessage) {
  Dice dice(13);
  for (int i = 0; i < 2000; ++i) {
    const schema::Key& key = schema::keys()[static_cast<std::size_t>(dice.below(std::ssize(schema::keys())))];
    const std::string text = mutated(concat(key.path(), '=', schema::to_toml(random_value(key, dice))), dice);
    Config config;
    try {
      apply_override(config, text);
      ASSERT_EQ(parse_config(to_toml(config), "again"), config) << text;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("--set ")) << error.what();
      EXPECT_EQ(config, Config{}) << text;
    }
  }
}

}  // namespace
}  // namespace dikkat
