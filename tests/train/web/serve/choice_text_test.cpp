#include "train/web/serve/choice_text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/text/byte_tokenizer.h"

namespace dikkat::serve {
namespace {

/// Formats each piece of a text of bytes as "text|tokens".
std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops, index offset = 0) {
  const ByteTokenizer tokenizer;
  ChoiceText choice(2, tokenizer, 'x', stops, offset);
  std::vector<std::string> given;
  const auto note = [&](const AnswerDelta& piece) {
    EXPECT_EQ(piece.choice, 2);
    std::string tokens;
    for (const TokenScore& token : piece.tokens) {
      append_to(tokens, concat(token.text, token.offset));
    }
    given.push_back(concat(piece.text, '|', tokens));
  };
  for (const char c : text) {
    if (!choice.stopped()) {
      note(choice.push(ScoredToken{.token = static_cast<unsigned char>(c), .log_probability = -1}));
    }
  }
  note(choice.finish(Ending::stop));
  return given;
}

using Pieces = std::vector<std::string>;

TEST(ChoiceText, GivesATokensScoreWithItsText) {
  EXPECT_EQ(pieces("abc", {}), (Pieces{"a|a0", "b|b1", "c|c2", "|"}));
  EXPECT_EQ(pieces("a\xC4\x9F"
                   "b",
                   {}, 10),
            (Pieces{"a|a10", "|",
                    "\xC4\x9F|\xC4"
                    "11\x9F"
                    "12",
                    "b|b12", "|"}))
      << "offsets are in characters";
}

TEST(ChoiceText, GivesNothingOfAStopString) {
  EXPECT_EQ(pieces("abSTz", {"ST"}), (Pieces{"a|a0", "b|b1", "|", "|", "|"}));
  EXPECT_EQ(pieces("abSxz", {"ST"}), (Pieces{"a|a0", "b|b1", "|", "Sx|S2x3", "z|z4", "|"})) << "it was not one";
  EXPECT_EQ(pieces("abS", {"ST"}), (Pieces{"a|a0", "b|b1", "|", "S|S2"})) << "it may have become one";
  EXPECT_EQ(pieces("ST", {"ST"}), (Pieces{"|", "|", "|"}));
}

TEST(ChoiceText, SplitsReasoningAndCalls) {
  const ByteTokenizer tokenizer;
  const AnswerFormat form{
      .think_begin = "<think>",
      .think_end = "</think>",
      .calls = CallFormat{.begin = "<c>", .end = "</c>", .name_key = "name", .arguments_key = "arguments", .several = true}};
  const auto read = [&](const std::string& text, bool hides, bool several) {
    ChoiceText choice(0, tokenizer, 'x', {"STOP"});
    choice.set_reader(AnswerReader({.form = &form, .reads_reasoning = true, .tools = {"f"}, .several = several}));
    if (hides) {
      choice.hide_reasoning();
    }
    AnswerDelta all;
    for (const char c : text) {
      if (!choice.stopped()) {
        all.append(choice.push(ScoredToken{.token = static_cast<unsigned char>(c), .log_probability = -1}));
      }
    }
    all.append(choice.finish(Ending::end));
    return all;
  };
  const std::string text = "<think>\nHm\n</think>\nSo <c>{\"name\": \"f\", \"arguments\": {}}</c> <c>{\"name\": \"f\"}</c>";
  const AnswerDelta all = read(text, false, true);
  EXPECT_EQ(all.reasoning, "Hm");
  EXPECT_EQ(all.text, "So");
  EXPECT_EQ(all.calls,
            (std::vector<CallPart>{{.number = 0, .name = "f", .arguments = "{}"}, {.number = 1, .name = "f", .arguments = "{}"}}));
  EXPECT_TRUE(all.has_called);
  EXPECT_EQ(all.tokens.size(), text.size()) << "all tokens are reported";
  EXPECT_EQ(read(text, true, true).reasoning, "");
  const AnswerDelta one = read(text, false, false);
  EXPECT_EQ(one.calls.size(), 1U);
  EXPECT_LT(one.tokens.size(), text.size() - 10) << "one call ends the answer";
  const AnswerDelta stopped = read("<think>a STOP</think>", false, true);
  EXPECT_EQ(stopped.reasoning, "a ");
  EXPECT_FALSE(stopped.has_called);
}

}  // namespace
}  // namespace dikkat::serve
