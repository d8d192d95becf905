#include "train/exchange/ollama_modelfile.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/text/bpe_tokenizer.h"

// tests/clients/modelfile.mjs renders these templates with Go and compares.
namespace dikkat {
namespace {

BpeTokenizer with_special(const std::vector<std::string>& names) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  BpeVocabulary vocabulary{.bpe = Bpe(std::move(tokens), {})};
  for (const std::string& name : names) {
    vocabulary.added_tokens[static_cast<Token>(256 + vocabulary.added_tokens.size())] = {.name = name};
  }
  return BpeTokenizer(std::move(vocabulary));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(GoTemplate, IsThatOfAKnownForm) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const auto go = go_template(chat_template(TemplateName::chatml, tokenizer));
  ASSERT_TRUE(go.has_value());
  EXPECT_TRUE(has(go->text, R"({{ "<|im_start|>user\n" }}{{ .Content }}{{ "<|im_end|>\n" }})")) << go->text;
  EXPECT_EQ(go->system, "");
  const auto plain = go_template(chat_template(TemplateName::plain, tokenizer));
  ASSERT_TRUE(plain.has_value());
  EXPECT_TRUE(has(plain->text, R"({{ "User:\n" }}{{ .Content }}{{ "<|endoftext|>\n" }})")) << plain->text;
}

TEST(GoTemplate, KeepsTheTemplatesOwnSystemMessage) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  const auto go = go_template(chat_template(TemplateName::chatml, tokenizer, "", {.system = "Be kind."}));
  ASSERT_TRUE(go.has_value());
  EXPECT_EQ(go->system, "Be kind.");
}

TEST(GoTemplate, IsNotGuessed) {
  const BpeTokenizer tokenizer = with_special({"<|endoftext|>"});
  for (const char* jinja :
       {"{% for m in messages %}#{{ m.role }}#{{ m.content }}{% endfor %}", "{{ raise_exception('no') }}",
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\nOK: "}) {
    EXPECT_FALSE(go_template(chat_template(TemplateName::own, tokenizer, jinja)).has_value()) << jinja;
  }
}

TEST(Modelfile, HasALineForEachFact) {
  const std::string text =
      ollama_modelfile({.gguf = "m.gguf",
                        .form = GoTemplate{.text = "T", .system = "S"},
                        .stops = {"<a>", "<b>"},
                        .sampling = {.temperature = 0.5, .top_k = 40, .top_p = 0.9, .min_p = 0.05, .repetition_penalty = 1.1},
                        .context = 128});
  EXPECT_EQ(text,
            "FROM ./m.gguf\nTEMPLATE \"\"\"T\"\"\"\nSYSTEM \"\"\"S\"\"\"\nPARAMETER stop \"\"\"<a>\"\"\"\nPARAMETER stop \"\"\"<b>\"\"\"\n"
            "PARAMETER temperature 0.5\nPARAMETER top_k 40\nPARAMETER top_p 0.9\nPARAMETER min_p 0.05\nPARAMETER repeat_penalty 1.1\n"
            "PARAMETER repeat_last_n -1\nPARAMETER num_ctx 128\n");
  EXPECT_THROW(ollama_modelfile({.gguf = "m.gguf", .stops = {"\"\"\""}}), InputError);
}

}  // namespace
}  // namespace dikkat
