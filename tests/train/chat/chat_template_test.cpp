#include "train/chat/chat_template.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/call_templates.h"
#include "tests/support/throws.h"
#include "train/chat/render_variables.h"
#include "train/text/bpe_tokenizer.h"

// Conversations as text and as tokens. (tests/clients/chat.mjs compares both with those of Hugging Face's libraries.)
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

std::string scored_text(const std::vector<ChatText>& texts) {
  std::string text;
  for (const ChatText& one : texts) {
    for (const ByteRange& range : one.scored) {
      text += one.text.substr(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.last - range.first));
    }
  }
  return text;
}

std::string scored_text(const ChatTemplate& form, const std::vector<Message>& talk, ScoredText scored = ScoredText::answers) {
  return scored_text(form.learn({.messages = talk}, scored));
}

std::string text_of(const ChatTemplate& form, const std::vector<Message>& talk) {
  const std::vector<ChatText> texts = form.learn({.messages = talk}, ScoredText::answers);
  EXPECT_EQ(texts.size(), 1U);
  return texts.front().text;
}

ChatTokens tokens_of(const Tokenizer& tokenizer, const ChatTemplate& form, const std::vector<Message>& talk) {
  const std::vector<ChatTokens> texts = encode(tokenizer, form, {.messages = talk}, ScoredText::answers);
  EXPECT_EQ(texts.size(), 1U);
  return texts.front();
}

const std::vector<std::string> kChatmlTokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};

TEST(ChatTemplate, ScoresAnswersWithTheirEnds) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  EXPECT_EQ(form.name(), TemplateName::chatml);
  EXPECT_EQ(form.end_token(), 258);
  EXPECT_EQ(text_of(form, kTalk),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n2+2<|im_end|>\n"
            "<|im_start|>assistant\n4<|im_end|>\n");
  EXPECT_EQ(scored_text(form, kTalk), "Yes?<|im_end|>4<|im_end|>");
  EXPECT_EQ(scored_text(form, kTalk, ScoredText::last_answer), "4<|im_end|>");
  EXPECT_EQ(scored_text(form, kTalk, ScoredText::all), text_of(form, kTalk));
  EXPECT_TRUE(form.ask(std::span(kTalk).first(1)).text.ends_with("Hi<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_EQ(scored_text(form, {{"user", "Hi"}, {"assistant", ""}}), "<|im_end|>") << "an empty answer is its end";
}

TEST(ChatTemplate, AUsersTextIsNeverMarkup) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  for (const char* text : {"<|im_end|>", "a<|im_start|>", "<|endoftext|>b"}) {
    const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer);
    const ChatTokens tokens = tokens_of(tokenizer, form, {{"user", text}, {"assistant", "no"}});
    EXPECT_EQ(std::count_if(tokens.tokens.begin(), tokens.tokens.end(), [](Token token) { return token >= 256; }), 4) << text;
    EXPECT_EQ(std::count(tokens.scored.begin(), tokens.scored.end(), true), 3) << "n, o, <|im_end|>";
    EXPECT_EQ(tokens.tokens.size(), tokens.scored.size());
  }
}

TEST(ChatTemplate, OfATokenizerWithoutTokensForChats) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>"});
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  EXPECT_EQ(form.name(), TemplateName::plain);
  EXPECT_EQ(text_of(form, {kTalk[0], kTalk[1]}), "User:\nHi<|endoftext|>\nAssistant:\nYes?<|endoftext|>\n");
  EXPECT_TRUE(testing::names(input_error_of([&] { chat_template(TemplateName::chatml, tokenizer); }),
                             {"chat.template", "\"chatml\"", "<|im_start|>", "<|im_end|>", "\"plain\""}));
}

TEST(ChatTemplate, OfLlama3BeginsOnceAndTrims) {
  const BpeTokenizer tokenizer =
      with_special({"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  const ChatTemplate form = chat_template(TemplateName::auto_, tokenizer);
  const ChatTokens tokens = tokens_of(tokenizer, form, {{"user", " Hi\n"}, {"assistant", "no"}});
  EXPECT_EQ(tokenizer.decode(tokens.tokens),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nno<|eot_id|>");
  EXPECT_EQ(std::count(tokens.tokens.begin(), tokens.tokens.end(), 256), 1) << "one beginning of a text";
}

TEST(ChatTemplate, AMessagesOwnMarkDecidesWhetherItIsLearned) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer);
  const std::vector<Message> talk = {{"user", "Hi"}, {"assistant", "bad", false}, {"user", "so", true}, {"assistant", "good"}};
  EXPECT_EQ(scored_text(form, talk), "so<|im_end|>good<|im_end|>");
  EXPECT_EQ(scored_text(form, talk, ScoredText::last_answer), "so<|im_end|>good<|im_end|>");
  EXPECT_EQ(scored_text(form, talk, ScoredText::all),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>user\nso<|im_end|>\n<|im_start|>assistant\ngood<|im_end|>\n");
  EXPECT_TRUE(text_of(form, talk).find("assistant\nbad<|im_end|>") != std::string::npos) << "it is context";
  for (const Conversation& example : {Conversation{.messages = talk, .learn = false}, Conversation{.text = "once", .learn = false}}) {
    const std::vector<ChatTokens> tokens = encode(tokenizer, form, example, ScoredText::all);
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_GT(tokens.front().tokens.size(), 3U);
    EXPECT_EQ(std::count(tokens.front().scored.begin(), tokens.front().scored.end(), true), 0);
  }
}

ChatTemplate own(const std::string& jinja, const Tokenizer& tokenizer, ChatVariables variables = {}) {
  return chat_template(TemplateName::own, tokenizer, jinja, std::move(variables));
}

// Like Qwen 3's: the reasoning of earlier answers is dropped, and the last answer has a place for it even if it has none.
constexpr const char* kReasons =
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n"
    "{%- set text = m.content.split('</think>')[-1].lstrip('\\n') %}\n"
    "{%- if m.role == 'assistant' and loop.last %}{{ '\\n<think>\\n' + m.content.split('</think>')[0].split('<think>')[-1].strip('\\n') if "
    "'</think>' in m.content "
    "else '\\n<think>\\n' }}{{ '\\n</think>\\n\\n' + text }}"
    "{%- else %}{{ '\\n' + text }}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

TEST(ChatTemplate, IsATextForEachAnswerWhereReasoningIsDropped) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form = own(kReasons, tokenizer);
  const std::vector<Message> talk = {
      {"user", "1"}, {"assistant", "<think>\nwhy\n</think>\n\none"}, {"user", "2"}, {"assistant", "<think>\nso\n</think>\n\ntwo"}};
  const std::vector<ChatText> texts = form.learn({.messages = talk}, ScoredText::answers);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(scored_text({texts[0]}), "<think>\nwhy\n</think>\n\none<|im_end|>");
  EXPECT_EQ(scored_text({texts[1]}), "<think>\nso\n</think>\n\ntwo<|im_end|>");
  EXPECT_TRUE(texts[1].text.find("why") == std::string::npos);
  EXPECT_EQ(form.learn({.messages = talk}, ScoredText::last_answer).size(), 1U);
}

// The marks of FunctionGemma's calls are special tokens, and an answer with calls ends with a token of its own. The texts are those of
// jinja2.
TEST(ChatTemplate, ScoresCallsToTheirEnds) {
  const BpeTokenizer tokenizer = with_special({"<start_of_turn>", "<end_of_turn>", "<escape>", "<start_function_call>",
                                               "<end_function_call>", "<start_function_declaration>", "<end_function_declaration>",
                                               "<start_function_response>", "<end_function_response>", "<|im_start|>", "<|im_end|>"});
  const Conversation talk{
      .messages = {{"user", "Hi"},
                   {.role = "assistant",
                    .content = "So",
                    .fields =
                        R"({"tool_calls": [{"function": {"name": "add", "arguments": {"b": [1, "x", {"k": true}], "a": "1 <b>", "n": null,
                                 "t": false, "f": 2.5}}}, {"function": {"name": "now", "arguments": {}}}]})"},
                   {.role = "tool", .content = "3", .fields = R"({"name": "add"})"},
                   {"assistant", "3!"}},
      .tools = R"([{"type": "function", "function": {"name": "add", "description": "Adds"}}])"};
  const std::string calls =
      "So<start_function_call>call:add{a:<escape>1 <b><escape>,b:[1,<escape>x<escape>,{k:true}],f:2.5,n:None,t:false}<end_function_call>"
      "<start_function_call>call:now{}<end_function_call><start_function_response>";
  const std::vector<ChatText> gemma = ChatTemplate(TemplateName::own, testing::kFunctionGemma, tokenizer).learn(talk, ScoredText::answers);
  ASSERT_EQ(gemma.size(), 1U);
  EXPECT_EQ(
      gemma[0].text,
      "<start_of_turn>developer\n<start_function_declaration>declaration:add{description:<escape>Adds<escape>}<end_function_declaration>"
      "<end_of_turn>\n<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n" +
          calls + "response:add{value:<escape>3<escape>}<end_function_response>3!<end_of_turn>\n");
  EXPECT_EQ(scored_text(gemma), calls + "3!<end_of_turn>");

  const std::string tags =
      "So\n<tool_call>\n<function=add>\n<parameter=b>\n[1, \"x\", {\"k\": true}]\n</parameter>\n<parameter=a>\n1 <b>\n</parameter>\n"
      "<parameter=n>\nNone\n</parameter>\n<parameter=t>\nFalse\n</parameter>\n<parameter=f>\n2.5\n</parameter>\n</function>\n</tool_call>\n"
      "<tool_call>\n<function=now>\n</function>\n</tool_call><|im_end|>";
  const std::vector<ChatText> coder = ChatTemplate(TemplateName::own, testing::kQwenCoder, tokenizer).learn(talk, ScoredText::answers);
  EXPECT_EQ(scored_text(coder), tags + "3!<|im_end|>");
}

TEST(ChatTemplate, RefusesWhatTheTemplateWouldDrop) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const std::vector<Message> talk = {{"system", "Be kind."}, {"user", "1"}, {"assistant", "one two"}};
  const auto problem = [&](const char* jinja, const Conversation& conversation) {
    return input_error_of([&] { own(jinja, tokenizer).learn(conversation, ScoredText::answers); });
  };
  EXPECT_TRUE(testing::names(problem("{% for m in messages[1:] %}{{ m.content }}<|im_end|>{% endfor %}", {.messages = talk}),
                             {"message 1", "system"}));
  EXPECT_TRUE(testing::names(problem("{% for m in messages %}{{ m.content[:3] }}<|im_end|>{% endfor %}", {.messages = talk}),
                             {"message 3", "assistant"}));
  const char* const all = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}";
  EXPECT_TRUE(testing::names(problem(all, {.messages = talk, .tools = R"([{"name": "f"}])"}), {"tools"}));
  EXPECT_TRUE(testing::names(problem("{{ raise_exception('No system message.') }}", {.messages = talk}), {"No system message."}));
  EXPECT_TRUE(testing::names(problem("\n{{ 1 + 'a' }}", {.messages = talk}), {"line 2"}));
  EXPECT_EQ(own(all, tokenizer).learn({.messages = talk}, ScoredText::answers).size(), 1U);
}

TEST(ChatTemplate, MayMarkWhatIsLearned) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form =
      own("{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>\n{% "
          "endgeneration %}"
          "{% else %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}",
          tokenizer);
  EXPECT_EQ(scored_text(form, kTalk), "Yes?<|im_end|>\n4<|im_end|>\n");
  EXPECT_EQ(scored_text(form, kTalk, ScoredText::last_answer), "4<|im_end|>\n");
}

TEST(ChatTemplate, GetsVariablesToolsAndFieldsOfMessages) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form =
      own("{{ eos_token }}{{ strftime_now('%d %b %Y') }}{{ enable_thinking }}{{ tools|tojson }}{% for m in messages %}{{ m.content }}"
          "{{ m.tool_calls|tojson if m.tool_calls else '' }}{% endfor %}",
          tokenizer, {.system = "S", .date = "2026-03-09", .others = R"({"enable_thinking": false})"});
  const Conversation talk{
      .messages = {{.role = "user", .content = "u"}, {.role = "assistant", .content = "a", .fields = R"({"tool_calls": [1]})"}},
      .tools = R"([{"b": 1, "a": 2}])"};
  EXPECT_EQ(form.ask(talk).text, R"(<|endoftext|>09 Mar 2026False[{"b": 1, "a": 2}]Sua[1])");
}

// A template that handles parts, as Gemma 3's: it trims each. For the system it takes only a text.
constexpr const char* kTakesParts =
    "{% for m in messages %}{{ m.role }}:{% if m.content is string %}{{ m.content|trim }}"
    "{% elif m.role == 'system' %}{{ m.content[0].text }}"
    "{% else %}{% for part in m.content %}{{ part.text|trim }}{% endfor %}{% endif %}<|im_end|>{% endfor %}";

TEST(ChatTemplate, GetsPartsAsItHandlesThem) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const auto in_parts = [](const char* role, std::vector<std::string> parts) {
    Message message{role, ""};
    for (const std::string& part : parts) {
      message.content += message.content.empty() ? part : "\n" + part;
    }
    message.parts = std::move(parts);
    return message;
  };
  const std::vector<Message> talk = {in_parts("system", {"Be", "kind."}), in_parts("user", {"What is", "the best book?"}),
                                     in_parts("assistant", {"None ", " at all."})};
  const auto text = [&](const std::string& jinja, ContentParts reading) {
    return own(jinja, tokenizer, {.parts = reading}).learn({.messages = talk}, ScoredText::answers).front().text;
  };
  EXPECT_EQ(text(kTakesParts, ContentParts::by_template),
            "system:Be\nkind.<|im_end|>user:What isthe best book?<|im_end|>assistant:Noneat all.<|im_end|>");
  EXPECT_EQ(text(kTakesParts, ContentParts::glued),
            "system:Bekind.<|im_end|>user:What isthe best book?<|im_end|>assistant:None  at all.<|im_end|>");
  // These take a text: one computes with it, and the others print whatever they get.
  for (const char* const print : {"m.content + ''", "m.content", "m.content|tojson|replace('\"', '')", "m.content|string|trim"}) {
    const std::string jinja = std::string("{% for m in messages %}{{ ") + print + " }}<|im_end|>{% endfor %}";
    const std::string lines = std::string(print).find("tojson") == std::string::npos ? "\n" : "\\n";
    EXPECT_EQ(text(jinja, ContentParts::by_template),
              "Be" + lines + "kind.<|im_end|>What is" + lines + "the best book?<|im_end|>None " + lines + " at all.<|im_end|>")
        << print;
    EXPECT_EQ(text(jinja, ContentParts::glued), "Bekind.<|im_end|>What isthe best book?<|im_end|>None  at all.<|im_end|>") << print;
  }
}

TEST(ChatTemplate, VariablesOfOtherProgramsAreReadAlike) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const auto rendered = [&](const char* source, const char* content) {
    const auto variables = nlohmann::ordered_json::parse(std::string(R"({"messages": [{"role": "user", "content": )") + content + "}]}");
    return render_variables(source, variables, tokenizer, "2026-03-09").text;
  };
  const char* const two = R"([{"type": "text", "text": "x "}, {"type": "text", "text": " y"}])";
  const char* const image = R"([{"type": "text", "text": "x"}, {"type": "image"}])";
  EXPECT_EQ(rendered(kTakesParts, two), "user:xy<|im_end|>");
  EXPECT_EQ(rendered("{{ messages[0].content }}", two), "x \n y");
  EXPECT_EQ(rendered("{{ messages[0].content }}", "\"x\""), "x");
  EXPECT_EQ(rendered("{{ messages[0].content }}", image), "[{'type': 'text', 'text': 'x'}, {'type': 'image'}]");
}

TEST(ChatTemplate, IsExportedWithItsSystemMessage) {
  const BpeTokenizer tokenizer = with_special(kChatmlTokens);
  const ChatTemplate form = chat_template(TemplateName::chatml, tokenizer, "", {.system = "It's\nkind."});
  const ChatTemplate exported = own(form.jinja(), tokenizer);
  EXPECT_EQ(exported.ask(kTalk).text, form.ask(kTalk).text);
  EXPECT_TRUE(exported.ask(kTalk).text.starts_with("<|im_start|>system\nIt's\nkind.<|im_end|>\n"));
  const std::vector<Message> other = {{"system", "Other."}, {"user", "Hi"}};
  EXPECT_EQ(exported.ask(other).text, form.ask(other).text);
}

}  // namespace
}  // namespace dikkat
