#include "train/model/language_model.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "autograd/base/pages.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

TEST(LanguageModel, TransformerBaseHasThePapersParameters) {
  Config config = load_config(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs/transformer-base.toml");
  resolve(config);
  EXPECT_EQ(LanguageModel(config.model, 37000).parameters().parameter_count(), 63'082'496);
  config.model.share_embeddings = false;
  config.model.tie_embeddings = false;
  config.model.final_norm = true;
  EXPECT_EQ(LanguageModel(config.model, 37000).parameters().parameter_count(), 63'082'496 + 2 * 37000 * 512 + 4 * 512);
}

TEST(LanguageModel, Gpt2HasItsParameters) {
  const auto recipe = [](const char* name) {
    Config config = load_config(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs" / name);
    EXPECT_EQ(config.tokenizer.kind, "bpe");
    EXPECT_EQ(config.tokenizer.vocab_size, 50257);
    EXPECT_EQ(config.model.vocab_size, 50257);
    return config.model;
  };
  EXPECT_EQ(LanguageModel(recipe("gpt2-124m.toml"), 50257).parameters().parameter_count(), 124'439'808);
  EXPECT_EQ(LanguageModel(recipe("gpt-124m-untied.toml"), 50257).parameters().parameter_count(), 163'009'536);
}

// The numbers are those of their papers or model cards, and no weights are allocated.
TEST(LanguageModel, LlamaQwenAndSmolLmHaveTheirParameters) {
  const auto count = [](const char* name) {
    Config config = load_config(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs" / name);
    resolve(config);
    validate(config);
    EXPECT_EQ(config.model.vocab_size, config.tokenizer.vocab_size) << name;
    const std::int64_t pages = Pages::requests();
    const index parameters = LanguageModel(config.model, config.model.vocab_size).parameters().parameter_count();
    EXPECT_EQ(Pages::requests(), pages) << name << " takes memory";
    return parameters;
  };
  EXPECT_EQ(count("smollm2-135m.toml"), 134'515'008);
  EXPECT_EQ(count("qwen3-0.6b.toml"), 596'049'920);
  EXPECT_EQ(count("llama-3.2-1b.toml"), 1'235'814'400);
  EXPECT_EQ(count("gemma-3-270m.toml"), 268'098'176);
  EXPECT_EQ(count("gemma-3-1b.toml"), 999'885'952);
  EXPECT_EQ(count("smollm3-3b.toml"), 3'075'098'624);
  EXPECT_EQ(count("granite-4.0-350m.toml"), 352'379'904);
  EXPECT_EQ(count("olmo-2-1b.toml"), 1'484'916'736);
}

TEST(LanguageModel, LlamaTinyHasItsParameters) {
  Config config = load_config(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs/llama-tiny.toml");
  resolve(config);
  // 192 wide, 6 heads of 32 and 2 of keys; gated: 8/3 of 192 is 512.
  const index block = 192 * (192 + 64 + 64) + 192 * 192 + 3 * 192 * 512 + 2 * 192;
  EXPECT_EQ(LanguageModel(config.model, 1024).parameters().parameter_count(), 1024 * 192 + 4 * block + 192);
}

TEST(LanguageModel, KnowsItsKind) {
  const LanguageModel gpt({.n_layer = 1, .n_embd = 8, .block_size = 4}, 9);
  EXPECT_NO_THROW(gpt.gpt());
  EXPECT_TRUE(testing::names(input_error_of([&] { gpt.encoder_decoder(); }), {"is a GPT", "encoder-decoder"}));
  const LanguageModel pairs({.kind = ModelKind::encoder_decoder, .n_layer = 1, .n_embd = 8, .block_size = 4}, 9);
  EXPECT_NO_THROW(pairs.encoder_decoder());
  EXPECT_TRUE(testing::names(input_error_of([&] { pairs.gpt(); }), {"is an encoder-decoder", "GPT"}));
}

}  // namespace
}  // namespace dikkat
