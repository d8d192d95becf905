#include "train/model/model_flops.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "train/config/parse.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

double flops_of(const char* recipe, index rows, index time) {
  Config config = load_config(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs" / recipe);
  resolve(config);
  const LanguageModel model(config.model, config.model.vocab_size);
  Batch batch;
  batch.reshape(rows, {.cols = time});
  std::fill(batch.weights.begin(), batch.weights.end(), 1.0F);
  return training_flops(model, batch);
}

// The hand count is 6 for each weight of a product and token; the token table counts once, as the head. To this come 12 heads * head_size
// for each pair of a query and a key, half of which are seen. (profile_test checks that the ops make these products.)
TEST(TrainingFlops, OfRecipesAreThoseOfAHandCount) {
  const double smollm_block = 576.0 * (576 + 192 + 192) + 576.0 * 576 + 3 * 576.0 * 1536;
  EXPECT_DOUBLE_EQ(flops_of("smollm2-135m.toml", 2, 512), 2 * 512 * (6 * (30 * smollm_block + 49152.0 * 576) + 6.0 * 30 * 576 * 512));
  // The heads together are twice as wide as the model.
  const double qwen_block = 1024.0 * (2048 + 1024 + 1024) + 2048.0 * 1024 + 3 * 1024.0 * 3072;
  EXPECT_DOUBLE_EQ(flops_of("qwen3-0.6b.toml", 1, 256), 256 * (6 * (28 * qwen_block + 151936.0 * 1024) + 6.0 * 28 * 2048 * 256));
  const double llama_block = 2048.0 * (2048 + 512 + 512) + 2048.0 * 2048 + 3 * 2048.0 * 8192;
  EXPECT_DOUBLE_EQ(flops_of("llama-3.2-1b.toml", 1, 1024), 1024 * (6 * (16 * llama_block + 128256.0 * 2048) + 6.0 * 16 * 2048 * 1024));
  const double gpt2_block = 768.0 * 3 * 768 + 768.0 * 768 + 2 * 768.0 * 3072;
  EXPECT_DOUBLE_EQ(flops_of("gpt2-124m.toml", 1, 1024), 1024 * (6 * (12 * gpt2_block + 50257.0 * 768) + 6.0 * 12 * 768 * 1024));
}

// Fifteen of 18 layers see 512 tokens: the first 512 tokens make 512^2 / 2 pairs, and each later one 512.
TEST(TrainingFlops, OfWindowsAreInProportionToThem) {
  const double block = 640.0 * (1024 + 256 + 256) + 1024.0 * 640 + 3 * 640.0 * 2048;
  const auto expected = [&](double time, double windowed) {
    return time * 6 * (18 * block + 262144.0 * 640) + 12 * 1024 * (3 * time * time / 2 + 15 * windowed);
  };
  EXPECT_DOUBLE_EQ(flops_of("gemma-3-270m.toml", 1, 1024), expected(1024, 512 * 512 / 2 + 512 * 512));
  EXPECT_DOUBLE_EQ(flops_of("gemma-3-270m.toml", 1, 256), expected(256, 256 * 256 / 2));
}

TEST(TrainingFlops, FrozenWeightsNeedNoGradientOfTheirOwn) {
  const TransformerConfig config{.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 8, .vocab_size = 11};
  Batch batch;
  batch.reshape(3, {.cols = 8});
  std::fill(batch.weights.begin(), batch.weights.end(), 1.0F);
  const double block = 16.0 * 48 + 16 * 16 + 2 * 16.0 * 64, adapters = 2 * ((16 + 48) + (16 + 16) + (16 + 64) + (64 + 16));  // of rank 2
  const double all = training_flops(LanguageModel(config, 11), batch);
  EXPECT_DOUBLE_EQ(training_flops(LanguageModel(config, 11, {.rank = 2}), batch),
                   all + 24 * (-2 * (2 * block + 11 * 16) + 6 * 2 * adapters));
  EXPECT_DOUBLE_EQ(training_flops(LanguageModel(config, 11, {.rank = 2, .modules_to_save = {"head"}}), batch),
                   all + 24 * (-2 * 2 * block + 6 * 2 * adapters));
}

}  // namespace
}  // namespace dikkat
