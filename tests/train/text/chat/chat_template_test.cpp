#include "train/text/chat/chat_template.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/text/bpe_tokenizer.h"

// Conversations as text and as tokens. (tests/clients/chat.mjs compares the text with that of Hugging Face's Jinja.)
namespace dikkat {
namespace {

std::vector<std::string> letters() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  return tokens;
}

/// A byte is a token; the special tokens `names` follow.
BpeTokenizer with_special(const std::vector<std::string>& names) {
  BpeVocabulary vocabulary{.bpe = Bpe(letters(), {})};
  for (const std::string& name : names) {
    vocabulary.added_tokens[static_cast<Token>(256 + vocabulary.added_tokens.size())] = {.name = name};
  }
  return BpeTokenizer(std::move(vocabulary));
}

const std::vector<Message> kTalk = {{"user", "Hi"}, {"assistant", "Yes?"}, {"user", "2+2"}, {"assistant", "4"}};

std::string text_of(const std::vector<ChatSpan>& spans) {
  std::string text;
  for (const ChatSpan& span : spans) {
    text += span.text;
  }
  return text;
}

std::string scored_text(const std::vector<ChatSpan>& spans) {
  std::string text;
  for (const ChatSpan& span : spans) {
    text += span.is_scored ? span.text : "";
  }
  return text;
}

TEST(ChatTemplate, ScoresAnswersWithTheirEnds) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  EXPECT_EQ(form.name, TemplateName::chatml);
  EXPECT_EQ(text_of(form.write(kTalk)),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n2+2<|im_end|>\n"
            "<|im_start|>assistant\n4<|im_end|>\n");
  EXPECT_EQ(scored_text(form.write(kTalk)), "Yes?<|im_end|>4<|im_end|>");
  EXPECT_EQ(scored_text(form.write(kTalk, ScoredText::last_answer)), "4<|im_end|>");
  EXPECT_EQ(scored_text(form.write(kTalk, ScoredText::all)), text_of(form.write(kTalk)));
  EXPECT_TRUE(text_of(form.write(std::span(kTalk).first(1), ScoredText::answers, true)).ends_with("Hi<|im_end|>\n<|im_start|>assistant\n"));
}

TEST(ChatTemplate, AUsersTextIsNeverMarkup) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer);
  const ChatTokens tokens = encode(tokenizer, form, {.messages = {{"user", "<|im_end|>"}, {"assistant", "no"}}}, ScoredText::answers);
  EXPECT_EQ(std::count(tokens.tokens.begin(), tokens.tokens.end(), 258), 2) << "the ends of the two messages";
  EXPECT_EQ(std::count(tokens.scored.begin(), tokens.scored.end(), true), 3) << "n, o, <|im_end|>";
  EXPECT_EQ(tokens.tokens.size(), tokens.scored.size());
}

TEST(ChatTemplate, OfATokenizerWithoutTokensForChats) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>"});
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  EXPECT_EQ(text_of(form.write(std::span(kTalk).first(2))), "User:\nHi<|endoftext|>\nAssistant:\nYes?<|endoftext|>\n");
  EXPECT_TRUE(testing::names(input_error_of([&] { chat_template(TemplateName::chatml, tokenizer); }),
                             {"chat.template", "\"chatml\"", "<|im_start|>", "<|im_end|>", "\"plain\""}));
}

TEST(ChatTemplate, OfLlama3BeginsOnceAndTrims) {
  const BpeTokenizer tokenizer =
      with_special({"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  const ChatTokens tokens = encode(tokenizer, form, {.messages = {{"user", " Hi\n"}, {"assistant", "no"}}}, ScoredText::answers);
  EXPECT_EQ(tokenizer.decode(tokens.tokens),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nno<|eot_id|>");
  EXPECT_EQ(std::count(tokens.tokens.begin(), tokens.tokens.end(), 256), 1) << "one beginning of a text";
}

TEST(ChatTemplate, KnowsOnlyTheMarkupThatItWrites) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const auto own = known_template(chat_template(TemplateName::chatml, tokenizer).jinja(), tokenizer);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->name, TemplateName::chatml);
  EXPECT_FALSE(known_template("{{ messages }}", tokenizer).has_value());
}

TEST(ChatTemplate, AMessagesOwnMarkDecidesWhetherItIsLearnt) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer);
  const std::vector<Message> talk = {{"user", "Hi"}, {"assistant", "bad", false}, {"user", "so", true}, {"assistant", "good"}};
  EXPECT_EQ(scored_text(form.write(talk)), "so<|im_end|>good<|im_end|>");
  EXPECT_EQ(scored_text(form.write(talk, ScoredText::last_answer)), "so<|im_end|>good<|im_end|>");
  EXPECT_EQ(scored_text(form.write(talk, ScoredText::all)),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>user\nso<|im_end|>\n<|im_start|>assistant\ngood<|im_end|>\n");
  EXPECT_TRUE(text_of(form.write(talk)).find("assistant\nbad<|im_end|>") != std::string::npos) << "it is context";
  for (const Conversation& example : {Conversation{.messages = talk, .learn = false}, Conversation{.text = "once", .learn = false}}) {
    const ChatTokens tokens = encode(tokenizer, form, example, ScoredText::all);
    EXPECT_GT(tokens.tokens.size(), 3U);
    EXPECT_EQ(std::count(tokens.scored.begin(), tokens.scored.end(), true), 0);
  }
}

}  // namespace
}  // namespace dikkat
