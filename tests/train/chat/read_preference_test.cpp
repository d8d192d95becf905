#include "train/chat/read_preference.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

// Lines of JSONL for preference tuning: each form is recognized, and what is not understood is refused by name.
namespace dikkat {
namespace {

using testing::names;

Preference read_pair(const std::string& line) {
  ExampleFindings found;
  return read_preference(line, found);
}
ExampleFindings findings_of(const std::string& line) {
  ExampleFindings found;
  read_preference(line, found);
  return found;
}
std::string refusal_of(const std::string& line) {
  return input_error_of([&] { read_pair(line); });
}
PreferenceKind kind_of_line(const std::string& line) { return preference_kind(nlohmann::ordered_json::parse(line)); }

/// A message that is only context, and one that is scored.
Message context(const char* role, const char* text) { return {.role = role, .content = text, .learn = false}; }
Message scored(const char* text) { return {.role = "assistant", .content = text, .learn = true}; }

TEST(ReadPreference, RecognizesLinesByTheirFields) {
  EXPECT_EQ(kind_of_line(R"({"prompt": "a", "chosen": "b", "rejected": "c"})"), PreferenceKind::pair);
  EXPECT_EQ(kind_of_line(R"({"chosen": []})"), PreferenceKind::pair) << "half of one is still meant as one";
  EXPECT_EQ(kind_of_line(R"({"prompt": "a", "completion": "b", "label": false})"), PreferenceKind::judged);
  EXPECT_EQ(kind_of_line(R"({"prompt": "a", "completion": "b", "label": null, "chosen": null})"), PreferenceKind::none);
  EXPECT_EQ(kind_of_line(R"({"messages": []})"), PreferenceKind::none);
  EXPECT_EQ(kind_of_line("[1]"), PreferenceKind::none);
}

TEST(ReadPreference, ReadsAnswersToAPrompt) {
  const std::vector<std::string> lines = {
      R"({"prompt": "1+1", "chosen": "2", "rejected": "3"})",
      R"({"prompt": [{"role": "user", "content": "1+1"}], "chosen": "2", "rejected": "3"})",
      R"({"prompt": "1+1", "chosen": [{"role": "assistant", "content": "2"}], "rejected": [{"role": "assistant", "content": "3"}]})",
      R"({"prompt": "1+1", "chosen": {"role": "assistant", "content": "2"}, "rejected": "3"})",
  };
  for (const std::string& line : lines) {
    const Preference pair = read_pair(line);
    EXPECT_TRUE(pair.is_pair() && !pair.is_text()) << line;
    EXPECT_EQ(pair.prompt, 1U) << line;
    EXPECT_EQ(pair.chosen.messages, (std::vector<Message>{context("user", "1+1"), scored("2")})) << line;
    EXPECT_EQ(pair.rejected.messages, (std::vector<Message>{context("user", "1+1"), scored("3")})) << line;
  }
}

TEST(ReadPreference, FindsThePromptOfWholeConversations) {
  const std::string chosen = R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"},
      {"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}])";
  const std::string rejected = R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"},
      {"role": "user", "content": "1+1"}, {"role": "assistant", "content": "3"}])";
  const std::string both = R"("chosen": )" + chosen + R"(, "rejected": )" + rejected + "}";
  const std::string prompt = R"([{"role": "user", "content": "hi"}])";
  for (const std::string& line :
       {"{" + both, R"({"prompt": "1+1", )" + both, R"({"prompt": "hi", )" + both, R"({"prompt": )" + prompt + ", " + both}) {
    const Preference pair = read_pair(line);
    EXPECT_EQ(pair.prompt, 3U) << line;
    EXPECT_EQ(pair.chosen.messages,
              (std::vector<Message>{context("user", "hi"), context("assistant", "yes?"), context("user", "1+1"), scored("2")}))
        << line;
    EXPECT_EQ(pair.rejected.messages.back(), scored("3")) << line;
  }
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "2+2", )" + both), {"chosen[0]", "user", "\"prompt\""}));
  EXPECT_TRUE(names(refusal_of(R"({"chosen": )" + chosen + R"(, "rejected": )" + chosen + "}"), {"rejected", "differs"}));
  EXPECT_TRUE(names(refusal_of(R"({"chosen": )" + chosen + R"(, "rejected": [{"role": "user", "content": "bye"}]})"),
                    {"rejected", "another message", "\"prompt\""}));
  const std::string asks = R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"},
      {"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}])";
  EXPECT_TRUE(names(refusal_of(R"({"chosen": )" + chosen + R"(, "rejected": )" + asks + "}"), {"chosen[2]", "user", "assistant"}))
      << "answers to different questions cannot be compared";
  EXPECT_TRUE(names(refusal_of(R"({"chosen": )" + chosen + R"(, "rejected": )" + chosen.substr(0, chosen.rfind(", {")) +
                               R"(, {"role": "user", "content": "?"}]})"),
                    {"rejected", "assistant"}));
}

TEST(ReadPreference, ReadsTwoPlainTexts) {
  const Preference pair = read_pair(R"({"chosen": "The sky is blue.", "rejected": "The sky is green."})");
  EXPECT_TRUE(pair.is_text() && pair.is_pair());
  EXPECT_EQ(pair.chosen.text, "The sky is blue.");
  EXPECT_EQ(pair.rejected.text, "The sky is green.");
  EXPECT_TRUE(
      names(refusal_of(R"({"chosen": "a", "rejected": [{"role": "assistant", "content": "b"}]})"), {"rejected", "array", "string"}));
}

TEST(ReadPreference, ReadsJudgedAnswers) {
  const Preference bad = read_pair(R"({"prompt": "1+1", "completion": "3", "label": false})");
  EXPECT_EQ(bad.good, false);
  EXPECT_EQ(bad.chosen.messages, (std::vector<Message>{context("user", "1+1"), scored("3")}));
  EXPECT_TRUE(bad.chosen.learn) << "a bad answer is learned from, too";
  EXPECT_EQ(read_pair(R"({"prompt": [{"role": "user", "content": "1+1"}], "completion": "2", "label": 1})").good, true);
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "completion": "b", "label": "good"})"), {"label", "good"}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": [], "completion": "b", "label": 1})"), {"prompt", "empty"}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": 7, "completion": "b", "label": 1})"), {"prompt", "7"}));
}

TEST(ReadPreference, UsesMarksAndTools) {
  EXPECT_FALSE(read_pair(R"({"prompt": "a", "chosen": "b", "rejected": "c", "weight": 0})").chosen.learn);
  EXPECT_EQ(findings_of(R"({"prompt": "a", "chosen": "b", "rejected": "c", "train": false})").left_out, 1);
  EXPECT_EQ(findings_of(R"({"prompt": "a\r\nb", "chosen": "b", "rejected": "c", "score": 0.5})").windows_lines, 1);
  EXPECT_EQ(findings_of(R"({"prompt": "a", "chosen": "b", "rejected": "c", "score": 0.5})").unused.size(), 1U);
  const Preference pair = read_pair(R"({"prompt": "a", "chosen": "b", "rejected": "c", "tools": [{"type": "function"}]})");
  EXPECT_FALSE(pair.chosen.tools.empty());
  EXPECT_EQ(pair.chosen.tools, pair.rejected.tools);
  const Preference part = read_pair(
      R"({"prompt": "a", "chosen": [{"role": "assistant", "content": "b", "weight": 0}, {"role": "user", "content": "c"},
          {"role": "assistant", "content": "d"}], "rejected": "e"})");
  EXPECT_EQ(part.chosen.messages,
            (std::vector<Message>{context("user", "a"), context("assistant", "b"), context("user", "c"), scored("d")}));
}

TEST(ReadPreference, AcceptsTheChosenMessagesTwice) {
  const std::string chosen = R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
  const std::string rejected = R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}])";
  const std::string both = R"({"prompt": "a", "chosen": )" + chosen + R"(, "rejected": )" + rejected + R"(, "messages": )";
  EXPECT_EQ(read_pair(both + chosen + "}").prompt, 1U) << "as UltraFeedback has them";
  EXPECT_TRUE(names(refusal_of(both + rejected + "}"), {"\"messages\""}));
}

TEST(ReadPreference, NoAnswerFollowsAnAnswer) {
  const std::string prompt = R"({"prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "The"}], )";
  EXPECT_TRUE(names(refusal_of(prompt + R"("chosen": " lamp", "rejected": " ship"})"), {"prompt[1]", "assistant"}));
  EXPECT_TRUE(names(refusal_of(prompt + R"("completion": " lamp", "label": true})"), {"prompt[1]", "assistant"}));
}

TEST(ReadPreference, RefusesOtherLines) {
  EXPECT_TRUE(names(refusal_of("["), {"column 2", "JSON"}));
  EXPECT_TRUE(names(refusal_of("[3]"), {"array", "object"}));
  EXPECT_TRUE(names(refusal_of(R"({"text": "a"})"), {"\"chosen\"", "\"label\"", "preference.method"}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "chosen": "b"})"), {"\"rejected\""}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "rejected": "b"})"), {"\"chosen\""}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "chosen": "b", "rejected": "c", "completion": "d"})"), {"\"completion\""}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "chosen": "b", "rejected": "c", "images": ["x"]})"), {"images"}));
  EXPECT_TRUE(
      names(refusal_of(R"({"prompt": "a", "chosen": [{"role": "user", "content": "b"}], "rejected": "c"})"), {"chosen[0]", "user"}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "chosen": "b", "rejected": [{"role": "assistant", "content": "c", "weight": 0}]})"),
                    {"rejected", "assistant"}));
  EXPECT_TRUE(names(refusal_of(R"({"prompt": "a", "chosen": "b", "rejected": [{"role": "assistant", "content": "c"},
      {"role": "system", "content": "d"}]})"),
                    {"rejected[1]", "system"}));
}

}  // namespace
}  // namespace dikkat
