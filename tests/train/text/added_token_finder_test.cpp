#include "train/text/added_token_finder.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

/// Formats a token as "[7]", the text between tokens as it is, and "|" between two parts of text.
std::string split(const AddedTokens& tokens, std::string_view text, bool with_special = true, bool nfc = false) {
  std::string out;
  const ByteRange whole{.first = 0, .last = static_cast<index>(text.size())};
  AddedTokenFinder(tokens, nfc)
      .split(
          text, std::span(&whole, with_special ? 1 : 0), [&](std::string_view part) { out.append(out.empty() ? "" : "|").append(part); },
          [&](Token token) { out += concat(out.empty() ? "" : "|", '[', token, ']'); });
  return out;
}

TEST(AddedTokens, AreFoundOnlyWhenAskedFor) {
  const AddedTokens tokens = {{7, {.name = "<|end|>"}}, {8, {.name = "<tool>", .special = false}}};
  EXPECT_EQ(split(tokens, "a <|end|><tool> b"), "a |[7]|[8]| b");
  EXPECT_EQ(split(tokens, "a <|end|><tool> b", false), "a <|end|>|[8]| b");
  EXPECT_EQ(split(tokens, "<|end"), "<|end");
  EXPECT_EQ(split(tokens, ""), "");
  EXPECT_EQ(split({}, "text"), "text");
}

TEST(AddedTokens, AreFoundOnlyWithinTheMarkup) {
  const AddedTokens tokens = {{7, {.name = "<e>"}}, {8, {.name = "<t>", .special = false}}, {9, {.name = "<n>", .normalized = true}}};
  const auto within = [&](std::string_view text, const std::vector<ByteRange>& markup, bool nfc) {
    std::string out;
    AddedTokenFinder(tokens, nfc)
        .split(
            text, markup, [&](std::string_view part) { out.append(out.empty() ? "" : "|").append(part); },
            [&](Token token) { out += concat(out.empty() ? "" : "|", '[', token, ']'); });
    return out;
  };
  for (const bool nfc : {false, true}) {
    EXPECT_EQ(within("<e><e>a<t><e>", {{3, 6}}, nfc), "<e>|[7]|a|[8]|<e>");
    EXPECT_EQ(within("<e><e>", {{0, 2}, {4, 6}}, nfc), "<e><e>") << "a name that is only partly markup";
    EXPECT_EQ(within("<n><n><n>", {{0, 3}, {6, 9}}, nfc), "[9]|<n>|[9]");
  }
  EXPECT_EQ(within("e\u0301<n>e\u0301<n>", {{3, 6}}, true), "\u00e9|[9]|\u00e9<n>") << "normalization moves the markup";
}

TEST(AddedTokens, OfSeveralAtOnePlaceTheLongestIsFound) {
  const AddedTokens tokens = {{1, {.name = "<a"}}, {2, {.name = "<ab>"}}, {3, {.name = "b>c"}}, {4, {.name = "<"}}};
  EXPECT_EQ(split(tokens, "<ab>c <abc <x"), "[2]|c |[1]|bc |[4]|x") << "the first from the left hides b>c";
  EXPECT_EQ(split({{1, {.name = "<ab>"}}, {2, {.name = "b>c", .special = false}}}, "<ab>c b>c", false), "<ab>c |[2]")
      << "so does one that is not asked for, as in Hugging Face's library";
}

TEST(AddedTokens, HaveFlags) {
  EXPECT_EQ(split({{1, {.name = "<m>", .lstrip = true}}}, "a \u3000<m> b <m><m>"), "a|[1]| b|[1]|[1]");
  EXPECT_EQ(split({{1, {.name = "<m>", .rstrip = true}}}, "a <m> \n b"), "a |[1]|b");
  EXPECT_EQ(split({{1, {.name = "cat", .single_word = true}}}, "cat cats bobcat cat-cat \u00E9cat cat\u0301 cat"),
            "[1]| cats bobcat |[1]|-|[1]| \u00E9cat cat\u0301 |[1]");
}

TEST(AddedTokens, AreFoundInTheTextAsItIsOrInItsNormalForm) {
  const AddedTokens raw = {{1, {.name = "e\u0301"}}};
  const AddedTokens normalized = {{1, {.name = "e\u0301", .normalized = true}}};
  EXPECT_EQ(split(raw, "\u00E9 e\u0301 e\u0301\u0323", true, true), "\u00E9 |[1]| |[1]|\u0323");
  EXPECT_EQ(split(normalized, "\u00E9 e\u0301 o\u0308", true, true), "[1]| |[1]| \u00F6");
  EXPECT_EQ(split(normalized, "\u00E9 e\u0301", true, false), "\u00E9 |[1]");
  EXPECT_EQ(split({{1, {.name = "ab", .normalized = true}}, {2, {.name = "bc"}}}, "abc ab"), "a|[2]| |[1]")
      << "those of the unchanged text come first";
}

TEST(AddedTokens, ReportWhetherTextsCanBeEncodedInParts) {
  const auto finder = [](AddedToken token) { return AddedTokenFinder({{1, std::move(token)}}, false); };
  EXPECT_TRUE(finder({.name = "<s> ", .lstrip = true}).is_local()) << "special tokens are not found in a corpus";
  EXPECT_TRUE(finder({.name = "<t>", .special = false}).is_local());
  EXPECT_FALSE(finder({.name = "<t>", .special = false, .lstrip = true}).is_local());
  EXPECT_FALSE(finder({.name = "<t>", .special = false, .rstrip = true}).is_local());
  EXPECT_FALSE(finder({.name = "<t>", .special = false, .single_word = true}).is_local());
  EXPECT_FALSE(finder({.name = "a b", .special = false}).is_local());
  EXPECT_FALSE(finder({.name = "a\u3000b", .special = false}).is_local());
}

TEST(AddedTokens, RefusesNamesThatCannotBeFound) {
  const auto error = [](const AddedTokens& tokens) { return input_error_of([&] { AddedTokenFinder(tokens, true); }); };
  EXPECT_TRUE(names(error({{5, {.name = ""}}}), {"token 5", "0", "1", "1024", "UTF-8"}));
  EXPECT_TRUE(names(error({{5, {.name = std::string(2000, 'x')}}}), {"2000"}));
  EXPECT_TRUE(names(error({{5, {.name = "\xFF"}}}), {"1", "1024", "UTF-8"}));
  EXPECT_TRUE(names(error({{5, {.name = "<x>"}}, {6, {.name = "<x>"}}}), {"two", "<x>"}));
  EXPECT_TRUE(names(error({{5, {.name = "\u00E9", .normalized = true}}, {6, {.name = "e\u0301", .normalized = true}}}),
                    {"two", "\u00E9", "normalized"}));
}

}  // namespace
}  // namespace dikkat
