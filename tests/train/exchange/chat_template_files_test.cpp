#include "train/exchange/chat_template_files.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/formats/gguf_writer.h"

// The places of models' chat templates. A template that cannot be read is refused: it must not count as absent.
namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

std::string text_in(const TemporaryFolder& folder) { return chat_templates_in(folder / ".").text; }

TEST(ChatTemplateFiles, AreFoundInEveryPlace) {
  const TemporaryFolder folder;
  EXPECT_EQ(text_in(folder), "");
  folder.write("chat_template.json", R"({"chat_template": "of the processor"})");
  EXPECT_EQ(text_in(folder), "of the processor");
  folder.write("tokenizer_config.json", R"({"chat_template": "a text"})");
  EXPECT_EQ(text_in(folder), "a text");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "of a list"}, {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(text_in(folder), "of a list");
  EXPECT_EQ(chat_templates_in(folder / ".").others, std::vector<std::string>{"tool_use"});
  std::filesystem::create_directories(folder / "additional_chat_templates");
  folder.write("additional_chat_templates/rag.jinja", "r");
  EXPECT_EQ(chat_templates_in(folder / ".").others, (std::vector<std::string>{"rag", "tool_use"}));
  folder.write("chat_template.jinja", "of a file\n");
  EXPECT_EQ(text_in(folder), "of a file\n");
  EXPECT_EQ(chat_templates_in(folder / ".").others, std::vector<std::string>{"rag"});
}

TEST(ChatTemplateFiles, ThatCannotBeReadAreRefused) {
  const TemporaryFolder folder;
  const auto refusal_of = [&](const char* config) {
    folder.write("tokenizer_config.json", config);
    return error_of([&] { text_in(folder); });
  };
  EXPECT_TRUE(names(refusal_of(R"({"chat_template": [{"name": "tool_use", "template": "t"}]})"), {"tool_use", "default"}));
  EXPECT_TRUE(names(refusal_of(R"({"chat_template": 3})"), {"chat_template", "3"}));
  EXPECT_TRUE(names(refusal_of(R"({"chat_template": [{"name": "default"}]})"), {"chat_template", "text", "\"template\""}));
  EXPECT_TRUE(names(refusal_of(R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "default", "template": "b"}]})"),
                    {"two", "\"default\""}));
  EXPECT_TRUE(names(refusal_of(R"({"chat_template": "\u0000"})"), {"UTF-8", "null"}));
  EXPECT_EQ(refusal_of(R"({"chat_template": null})"), "");
  std::filesystem::create_directories(folder / "additional_chat_templates");
  folder.write("additional_chat_templates/rag.jinja", "r");
  EXPECT_TRUE(names(refusal_of("{}"), {"rag", "default"}));
}

TEST(ChatTemplateFiles, OfGgufHaveADefaultOne) {
  const TemporaryFolder folder;
  const auto in_gguf = [&](const std::vector<MetaEntry>& metadata) {
    std::filesystem::remove(folder / "x.gguf");
    write_gguf(folder / "x.gguf", metadata, {});
    return chat_templates_in(open_weights(folder / "x.gguf"));
  };
  EXPECT_EQ(in_gguf({{"general.architecture", MetaValue("llama")}}).text, "");
  const ChatTemplateFiles both = in_gguf({{"tokenizer.chat_template", MetaValue("t")}, {"tokenizer.chat_template.rag", MetaValue("r")}});
  EXPECT_EQ(both.text, "t");
  EXPECT_EQ(both.others, std::vector<std::string>{"rag"});
  EXPECT_TRUE(names(error_of([&] { in_gguf({{"tokenizer.chat_template.rag", MetaValue("r")}}); }), {"rag", "tokenizer.chat_template"}));
  EXPECT_TRUE(names(error_of([&] { in_gguf({{"tokenizer.chat_template", MetaValue(3U)}}); }), {"tokenizer.chat_template", "3"}));
}

}  // namespace
}  // namespace dikkat
