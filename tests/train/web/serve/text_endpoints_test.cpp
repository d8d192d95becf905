#include "train/web/serve/text_endpoints.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"
#include "train/sample/prompt.h"
#include "train/text/bpe_tokenizer.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

BpeVocabulary vocabulary_of_bytes() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.emplace_back(1, static_cast<char>(byte));
  }
  return {.bpe = Bpe(bytes, {})};
}

/// A tokenizer of bytes with special tokens, of which the first one begins every text.
BpeTokenizer tokenizer_with_special() {
  BpeVocabulary vocabulary = vocabulary_of_bytes();
  vocabulary.added_tokens[256] = {.name = "<s>"};
  vocabulary.added_tokens[257] = {.name = "<|im_start|>"};
  vocabulary.added_tokens[258] = {.name = "<|im_end|>"};
  vocabulary.text_tokens.before = 256;
  return BpeTokenizer(std::move(vocabulary));
}

struct TextEndpoints : ::testing::Test {
  json tokenize(const json& body) const { return json::parse(tokenize_json(models, body.dump())); }
  std::vector<Token> tokens(const json& body) const { return tokenize(body)["tokens"].get<std::vector<Token>>(); }
  std::string detokenized(const json& body) const { return json::parse(detokenize_json(models, body.dump()))["content"]; }
  std::string applied(const json& body) const { return json::parse(apply_template_json(models, body.dump()))["prompt"]; }

  /// Returns "status param" of a refusal, which must name the parts.
  template <class F>
  static std::string refusal(F&& asks, const std::vector<std::string>& parts) {
    try {
      asks();
    } catch (const ApiError& error) {
      EXPECT_TRUE(testing::names(error.what(), parts));
      return concat(error.status(), ' ', error.param());
    }
    return "accepted";
  }

  SmallModel model{64};
  BpeTokenizer tokenizer = tokenizer_with_special();
  ServedModel base{.gpt = model.gpt,
                   .tokenizer = tokenizer,
                   .name = "base",
                   .fingerprint = "print",
                   .form = chat_template(TemplateName::chatml, tokenizer)},
      plain{.gpt = model.gpt, .tokenizer = model.tokenizer, .name = "plain", .fingerprint = "print", .why_no_form = "it is plain"};
  std::vector<ServedModel> models{base, plain};
};

TEST_F(TextEndpoints, TokenizesTexts) {
  EXPECT_EQ(tokens({{"content", "ab"}}), (std::vector<Token>{'a', 'b'}));
  EXPECT_EQ(tokens({{"content", "ab"}, {"add_special", true}}), (std::vector<Token>{256, 'a', 'b'}));
  EXPECT_EQ(tokens({{"content", "ab"}, {"add_special", true}}), encode_prompt(tokenizer, "ab")) << "as /v1/completions reads it";
  EXPECT_EQ(tokens({{"content", "<s>a"}, {"add_special", true}}), (std::vector<Token>{256, 'a'})) << "not twice";
  EXPECT_EQ(tokens({{"content", "a<s>"}, {"parse_special", false}}), (std::vector<Token>{'a', '<', 's', '>'}));
  EXPECT_EQ(tokens({{"content", "a<s>"}}), (std::vector<Token>{'a', 256}));
  EXPECT_EQ(tokens({{"content", ""}}), std::vector<Token>{});
  EXPECT_EQ(tokens({{"prompt", "ab"}, {"model", "base"}}), (std::vector<Token>{256, 'a', 'b'})) << "vLLM's default";
  EXPECT_EQ(tokens({{"prompt", "ab"}, {"add_special_tokens", false}}), (std::vector<Token>{'a', 'b'}));
  EXPECT_EQ(tokens({{"content", "a<s>"}, {"model", "plain"}}), (std::vector<Token>{'a', '<', 's', '>'})) << "another tokenizer";
  const json all = tokenize({{"prompt", "abc"}});
  EXPECT_EQ(all["count"], 4);
  EXPECT_EQ(all["max_model_len"], 64);
  EXPECT_FALSE(all.contains("token_strs"));
  EXPECT_EQ(tokenize({{"prompt", "a\u00e9"}, {"return_token_strs", true}})["token_strs"], (json{"<s>", "a", "\ufffd", "\ufffd"}));
  const json pieces = tokenize({{"content", "a<s>\u00e9"}, {"with_pieces", true}})["tokens"];
  EXPECT_EQ(pieces, (json{{{"id", 97}, {"piece", "a"}},
                          {{"id", 256}, {"piece", "<s>"}},
                          {{"id", 0xc3}, {"piece", {0xc3}}},
                          {{"id", 0xa9}, {"piece", {0xa9}}}}));
}

TEST_F(TextEndpoints, TokenizesConversationsAsAnswersReadThem) {
  const json talk = {{"messages", {{{"role", "user"}, {"content", "Hi <s>"}}}}};
  const ApiRequest request{.endpoint = Endpoint::chat, .messages = {{"user", "Hi <s>"}}};
  EXPECT_EQ(tokens(talk), prompt_tokens(base, request).at(0));
  EXPECT_EQ(std::ranges::count(tokens(talk), 256), 0) << "the content of a message is ordinary text, whatever it says";
  EXPECT_EQ(applied(talk), "<|im_start|>user\nHi <s><|im_end|>\n<|im_start|>assistant\n");
  json with_pieces = talk;
  with_pieces["with_pieces"] = true;
  EXPECT_EQ(tokenize(with_pieces)["tokens"][0], (json{{"id", 257}, {"piece", "<|im_start|>"}}));
  EXPECT_EQ(refusal([&] { applied({{"messages", talk["messages"]}, {"model", "plain"}}); }, {"it is plain"}), "400 messages");
  EXPECT_EQ(refusal([&] { applied({{"messages", {{{"role", "critic"}, {"content", "a"}}}}}); }, {"\"critic\""}), "400 messages[0].role");
  EXPECT_EQ(refusal([&] { applied({{"prompt", "a"}}); }, {"\"prompt\""}), "400 prompt");
  EXPECT_EQ(refusal([&] { applied({{"messages", talk["messages"]}, {"model", "other"}}); }, {"\"other\"", "\"base\"", "\"plain\""}),
            "404 model");
}

TEST_F(TextEndpoints, TokenizePromptsAsCompletionsReadThem) {
  for (const char* prompt : {"a<|im_start|>b<|im_end|>", "<s>a", "a", "<s>"}) {
    for (const bool parses : {true, false}) {
      const ApiRequest request{.prompts = {{.text = prompt}}, .special_names = parses ? SpecialNames::tokens : SpecialNames::text};
      EXPECT_EQ(tokens({{"prompt", prompt}, {"parse_special", parses}}), prompt_tokens(base, request).at(0)) << prompt << parses;
    }
  }
  EXPECT_EQ(prompt_tokens(base, {.prompts = {{.text = "a<|im_start|>"}}}).at(0), (std::vector<Token>{256, 'a', 257})) << "by default";
}

TEST_F(TextEndpoints, DetokenizesWhatTheyTokenized) {
  const std::string text = "The <s> king\u00e9\n";
  EXPECT_EQ(detokenized({{"tokens", tokens({{"content", text}})}}), text);
  EXPECT_EQ(detokenized({{"tokens", json::array()}}), "");
  EXPECT_EQ(detokenized({{"tokens", {0xc3}}}), "\ufffd") << "half a character";
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", {1, 259}}}); }, {"tokens[1]", "259", "258"}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", {-1}}}); }, {"tokens[0]", "-1", "258"}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", {18446744073709551615U}}}); }, {"18446744073709551615"}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", {"a"}}}); }, {"tokens[0]", "\"a\""}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", 5}}); }, {"5", "list"}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized(json::object()); }, {"tokens"}), "400 tokens");
  EXPECT_EQ(refusal([&] { detokenized({{"tokens", {256}}, {"model", "plain"}}); }, {"256", "255"}), "400 tokens");
}

TEST_F(TextEndpoints, DetokenizeUnderTheNamesOfBothPrograms) {
  EXPECT_EQ(json::parse(detokenize_json(models, R"({"tokens": [97, 98]})")), (json{{"content", "ab"}, {"prompt", "ab"}}));
}

TEST_F(TextEndpoints, DescribeTheTokenizer) {
  const json info = json::parse(tokenizer_info_json(base));
  EXPECT_EQ(info["bos_token"], "<s>");
  EXPECT_TRUE(info["eos_token"].is_null() && info["pad_token"].is_null()) << "it has none";
  EXPECT_EQ(info["model_max_length"], 64);
  EXPECT_NE(info["chat_template"].get<std::string>().find("<|im_start|>"), std::string::npos);
  BpeVocabulary vocabulary = vocabulary_of_bytes();
  vocabulary.added_tokens[256] = {.name = "<|endoftext|>"};
  const BpeTokenizer ends(std::move(vocabulary));
  const ServedModel other{.gpt = model.gpt, .tokenizer = ends, .name = "ends", .fingerprint = "print", .why_no_form = "it is plain"};
  const json of_other = json::parse(tokenizer_info_json(other));
  EXPECT_EQ(of_other["eos_token"], "<|endoftext|>");
  EXPECT_TRUE(of_other["chat_template"].is_null());
  EXPECT_EQ(json::parse(tokenize_json({other}, R"({"prompt": "<|endoftext|>", "add_special_tokens": false})"))["tokens"], json{256})
      << "its name is encoded as the token";
}

TEST_F(TextEndpoints, RefuseWhatTheyDoNotUnderstand) {
  EXPECT_EQ(refusal([&] { tokenize(json::object()); }, {"content", "messages"}), "400 content");
  EXPECT_EQ(refusal([&] { tokenize({{"content", 5}}); }, {"content", "5"}), "400 content");
  EXPECT_EQ(refusal([&] { tokenize({{"content", "a"}, {"prompt", "b"}}); }, {"content", "prompt"}), "400 prompt");
  EXPECT_EQ(refusal([&] { tokenize({{"content", "a"}, {"add_specials", true}}); }, {"\"add_specials\"", "\"add_special\""}),
            "400 add_specials");
  EXPECT_EQ(refusal([&] { tokenize({{"content", "a"}, {"add_special", 1}}); }, {"add_special", "1"}), "400 add_special");
  EXPECT_EQ(refusal([&] { tokenize_json(models, "{"); }, {"JSON"}), "400 ");
}

}  // namespace
}  // namespace dikkat::serve
