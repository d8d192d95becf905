#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/chat/chat_template.h"
#include "train/text/bpe_tokenizer.h"

// Conversations as text and as tokens. (tests/clients/chat.mjs compares the text with Hugging Face's Jinja.)
namespace dikkat {
namespace {

std::vector<std::string> letters() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  return tokens;
}

/// A byte is a token; after them stand `names`, which are special.
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
  const ChatTemplate form = chat_template(TemplateName::automatic, tokenizer);
  EXPECT_EQ(form.name, TemplateName::chatml);
  EXPECT_EQ(text_of(form.write(kTalk)),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n2+2<|im_end|>\n"
            "<|im_start|>assistant\n4<|im_end|>\n");
  EXPECT_EQ(scored_text(form.write(kTalk)), "Yes?<|im_end|>4<|im_end|>");
  EXPECT_EQ(scored_text(form.write(kTalk, ScoredText::last_answer)), "4<|im_end|>");
  EXPECT_EQ(scored_text(form.write(kTalk, ScoredText::all)), text_of(form.write(kTalk)));
  EXPECT_TRUE(text_of(form.write(std::span(kTalk).first(1), ScoredText::answers, true)).ends_with("Hi<|im_end|>\n<|im_start|>assistant\n"));
}

TEST(ChatTemplate, WhatAUserWritesIsNeverMarkup) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer);
  const ChatTokens tokens = encode(tokenizer, form, {.messages = {{"user", "<|im_end|>"}, {"assistant", "no"}}}, ScoredText::answers);
  EXPECT_EQ(std::count(tokens.tokens.begin(), tokens.tokens.end(), 258), 2) << "the ends of the two messages";
  EXPECT_EQ(std::count(tokens.scored.begin(), tokens.scored.end(), true), 3) << "n, o, <|im_end|>";
  EXPECT_EQ(tokens.tokens.size(), tokens.scored.size());
}

TEST(ChatTemplate, OfATokenizerWithoutTokensForChats) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>"});
  const ChatTemplate form = chat_template(TemplateName::automatic, tokenizer);
  EXPECT_EQ(text_of(form.write(std::span(kTalk).first(2))), "User:\nHi<|endoftext|>\nAssistant:\nYes?<|endoftext|>\n");
  EXPECT_EQ(input_error_of([&] { chat_template(TemplateName::chatml, tokenizer); }),
            "chat.template is \"chatml\", but the tokenizer has no special tokens <|im_start|> and <|im_end|>; expected \"plain\", which needs none, or a "
            "model whose tokenizer has them");
}

TEST(ChatTemplate, OfLlama3BeginsOnceAndTrims) {
  const BpeTokenizer tokenizer = with_special({"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  const ChatTemplate form = chat_template(TemplateName::automatic, tokenizer);
  const ChatTokens tokens = encode(tokenizer, form, {.messages = {{"user", " Hi\n"}, {"assistant", "no"}}}, ScoredText::answers);
  EXPECT_EQ(tokenizer.decode(tokens.tokens), "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                                             "<|start_header_id|>assistant<|end_header_id|>\n\nno<|eot_id|>");
  EXPECT_EQ(std::count(tokens.tokens.begin(), tokens.tokens.end(), 256), 1) << "one beginning of a text";
}

TEST(ChatTemplate, KnowsWhatItWritesItselfAndNothingElse) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const auto own = known_template(chat_template(TemplateName::chatml, tokenizer).jinja(), tokenizer);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->name, TemplateName::chatml);
  EXPECT_FALSE(known_template("{{ messages }}", tokenizer).has_value());
}

TEST(Conversation, IsToldByItsFields) {
  EXPECT_EQ(read_conversation(R"({"prompt": "1+1", "completion": "2"})", "text").messages,
            (std::vector<Message>{{"user", "1+1"}, {"assistant", "2"}}));
  EXPECT_EQ(read_conversation(R"({"text": "once"})", "text").text, "once");
  EXPECT_TRUE(is_conversation(R"({"messages": []})"));
  EXPECT_FALSE(is_conversation(R"({"text": "once"})"));
  EXPECT_FALSE(is_conversation(R"({"prompt": "a", "completion": "b"})", "completion")) << "the user names it as the text";
}

TEST(Conversation, RefusesWhatItIsNot) {
  const auto refusal = [](const char* line) { return input_error_of([&] { read_conversation(line, "text"); }); };
  EXPECT_EQ(refusal("["), "column 2: not valid JSON: unexpected end of the line; expected '[', '{', or a literal");
  EXPECT_EQ(refusal("[3]"), "is a JSON array, expected an object on each line");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "tool", "content": "x"}]})"), "message 1 has the role \"tool\", expected system, user or assistant");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": "x"}]})"), "has no message of the role assistant, so there is nothing to learn");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user"}]})"), "message 1 has no \"content\", only: \"role\"");
  EXPECT_EQ(refusal(R"({"prompt": "x"})"), "the line has no \"completion\", only: \"prompt\"");
  EXPECT_EQ(refusal(R"({"question": "x"})"),
            R"(has the field "question"; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
}

TEST(Conversation, NamesTheFieldsThatItDoesNotKnowAndGuesses) {
  const auto said = [](const char* line, const char* field = "text") { return input_error_of([&] { read_conversation(line, field); }); };
  EXPECT_EQ(said(R"({"instruction": "a", "output": "b"})"),
            R"(has the fields "instruction", "output"; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
  EXPECT_EQ(said(R"({"mesages": []})"),
            R"(has the field "mesages"; expected "messages", "prompt" and "completion", or "text" (data.text_field); did you mean "messages"?)");
  EXPECT_EQ(said(R"({"Body_": "a", "id": 1})", "body"),
            R"(has the fields "Body_", "id"; expected "messages", "prompt" and "completion", or "body" (data.text_field); did you mean "body"?)");
  EXPECT_EQ(said("{}"), R"(has no fields; expected "messages", "prompt" and "completion", or "text" (data.text_field))");
  EXPECT_EQ(unknown_fields(R"({"prompt": "a"})", "text"),
            R"(has the field "prompt"; expected "messages", "prompt" and "completion", or "text" (data.text_field))")
      << "what is right is no misspelling";
  EXPECT_TRUE(said(R"({"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0})").starts_with(
      R"(has the fields "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more; expected)"));
}

}  // namespace
}  // namespace dikkat
