#include "train/text/bpe.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/text/byte_level.h"

namespace dikkat {
namespace {

using testing::names;

std::vector<std::string> bytes_and(std::initializer_list<std::string> more) {
  std::vector<std::string> tokens;
  for (const unsigned char byte : byte_level::kOrder) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  tokens.insert(tokens.end(), more);
  return tokens;
}

Token id_of(const Bpe& bpe, std::string_view token) {
  const auto found = std::find(bpe.tokens().begin(), bpe.tokens().end(), token);
  return static_cast<Token>(found - bpe.tokens().begin());
}

std::vector<std::string> encoded(const Bpe& bpe, std::string_view piece) {
  std::vector<Token> tokens;
  bpe.encode(piece, tokens);
  std::vector<std::string> texts;
  for (const Token token : tokens) {
    texts.push_back(bpe.tokens()[static_cast<std::size_t>(token)]);
  }
  return texts;
}

/// Three merges, a b -> ab, ab ab -> abab, b c -> bc, with ids from 256 on.
Bpe three_merges() {
  const auto tokens = bytes_and({"ab", "abab", "bc"});
  const auto id = [&](std::string_view token) {
    return static_cast<Token>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  };
  return Bpe(tokens, {{id("a"), id("b")}, {id("ab"), id("ab")}, {id("b"), id("c")}});
}

TEST(Bpe, MergesTheEarliestFirstAndFromTheLeft) {
  const Bpe bpe = three_merges();
  using Texts = std::vector<std::string>;
  EXPECT_EQ(encoded(bpe, "abc"), (Texts{"ab", "c"}));
  EXPECT_EQ(encoded(bpe, "bc"), (Texts{"bc"}));
  EXPECT_EQ(encoded(bpe, "ababab"), (Texts{"abab", "ab"}));
  EXPECT_EQ(encoded(bpe, "xbcab"), (Texts{"x", "bc", "ab"}));
  EXPECT_EQ(encoded(bpe, ""), Texts());
  EXPECT_EQ(encoded(bpe, std::string("\0\xFF", 2)), (Texts{std::string(1, '\0'), "\xFF"}));
}

// GPT-2's own loop (encoder.py, bpe()), which searches the whole piece for every merge.
std::vector<Token> by_definition(const Bpe& bpe, std::string_view piece) {
  std::vector<Token> symbols;
  for (const char byte : piece) {
    symbols.push_back(id_of(bpe, std::string(1, byte)));
  }
  for (;;) {
    std::size_t best = bpe.merges().size(), at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = std::find(bpe.merges().begin(), bpe.merges().end(), Merge{symbols[i], symbols[i + 1]});
      const auto rank = static_cast<std::size_t>(found - bpe.merges().begin());
      if (rank < best) {
        best = rank;
        at = i;
      }
    }
    if (best == bpe.merges().size()) {
      return symbols;
    }
    const std::string made = bpe.tokens()[static_cast<std::size_t>(symbols[at])] + bpe.tokens()[static_cast<std::size_t>(symbols[at + 1])];
    symbols[at] = id_of(bpe, made);
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, ShortAndLongPiecesAreMergedAccordingToTheDefinition) {
  const Bpe bpe = three_merges();
  std::mt19937 random(7);
  for (const int size : {2, 5, 31, 63, 64, 65, 66, 200, 1000}) {
    for (int round = 0; round < 20; ++round) {
      std::string piece;
      for (int i = 0; i < size; ++i) {
        piece += "aabbcx"[random() % 6];
      }
      std::vector<Token> tokens;
      bpe.encode(piece, tokens);
      EXPECT_EQ(tokens, by_definition(bpe, piece)) << piece;
    }
  }
}

TEST(Bpe, ATokenThatNoMergeMakesIsNeverUsed) {
  const auto tokens = bytes_and({"ab", "abc"});
  const Bpe bpe(tokens, {{static_cast<Token>(std::find(tokens.begin(), tokens.end(), "a") - tokens.begin()),
                          static_cast<Token>(std::find(tokens.begin(), tokens.end(), "b") - tokens.begin())}});
  EXPECT_EQ(encoded(bpe, "abc"), (std::vector<std::string>{"ab", "c"}));
}

TEST(Bpe, RefusesVocabulariesThatDoNotGoTogether) {
  EXPECT_TRUE(names(input_error_of([] { Bpe({"a", "b"}, {}); }), {"byte 10", "\"\u010A\"", "ASCII"}));
  EXPECT_TRUE(names(input_error_of([] { Bpe(bytes_and({"ab", "ab"}), {}); }), {"256", "257", "\"ab\""}));
  EXPECT_TRUE(names(input_error_of([] { Bpe(bytes_and({"ab"}), {{0, 300}}); }), {"merge 0", "300"}));
  EXPECT_TRUE(names(input_error_of([] { Bpe(bytes_and({"ab"}), {{0, 1}}); }), {"merge 0", "\"!\"\""}));
  EXPECT_TRUE(names(input_error_of([] { Bpe(bytes_and({"!\""}), {{0, 1}, {0, 1}}); }), {"merge 1", "\"!\"\""}));
}

}  // namespace
}  // namespace dikkat
