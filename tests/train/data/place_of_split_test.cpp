#include "train/data/tokens/place_of_split.h"

#include <gtest/gtest.h>

#include "train/text/tokenizer_maker.h"

namespace dikkat {
namespace {

std::unique_ptr<Tokenizer> tokenizer_of(std::string_view kind, std::string_view text) {
  return make_tokenizer({.kind = std::string(kind)}, std::span(&text, 1));
}

TEST(PlaceOfSplit, CutsNoWordAndNoSymbol) {
  const std::string text =
      "the lamp\u00E9 turns  and\nships go\u2003by\tat\n\nnight then the very long line goes on and on and ends here\n";
  for (const std::string_view kind : {"word", "symbols"}) {
    const std::string spaced = kind == "word" ? text : "e4 e5 Nf3\nNc6 Bb5 a6\ne4 \u00E9\u00E9\u00E9 e5\n";
    const auto tokenizer = tokenizer_of(kind, spaced);
    for (std::size_t at = 0; at < spaced.size(); ++at) {
      const auto place = place_of_split(*tokenizer, spaced, static_cast<index>(at));
      ASSERT_TRUE(0 <= place && place <= static_cast<index>(at)) << kind << ' ' << at;
      std::vector<Token> both = tokenizer->encode(spaced.substr(0, static_cast<std::size_t>(place)));
      const std::vector<Token> after = tokenizer->encode(spaced.substr(static_cast<std::size_t>(place)));
      both.insert(both.end(), after.begin(), after.end());
      EXPECT_EQ(both, tokenizer->encode(spaced)) << kind << ' ' << at << ' ' << place;
    }
  }
  EXPECT_EQ(place_of_split(*tokenizer_of("byte", text), text, 6), 6) << "bytes are tokens";
}

TEST(PlaceOfSplit, PrefersTheBeginningOfALineThatIsNear) {
  const std::string text = std::string(20, 'x') + " y\n" + std::string(400, 'z') + "\na b";
  const auto tokenizer = tokenizer_of("symbols", text);
  EXPECT_EQ(place_of_split(*tokenizer, text, std::ssize(text) - 1), std::ssize(text) - 3);
  EXPECT_EQ(place_of_split(*tokenizer, text, 300), 23);
  EXPECT_EQ(place_of_split(*tokenizer, text, 21), 21) << "no line is near";
}

}  // namespace
}  // namespace dikkat
