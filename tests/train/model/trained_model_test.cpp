#include "train/model/trained_model.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

// The first checkpoint that every later version reads (tests/train/checkpoint/fixtures).
TEST(TrainedModel, TheFixtureOfFormat3IsUsable) {
  const auto path = std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/train/checkpoint/fixtures/format-3.h5";
  TrainedModel trained = load_trained_model(path.string(), false);
  EXPECT_EQ(trained.config.model.norm_position, NormPosition::pre);
  EXPECT_EQ(trained.config.model.vocab_size, trained.tokenizer->vocab_size());
  EXPECT_EQ(trained.model->parameters().entry("wte.weight").shape(), (Shape{trained.tokenizer->vocab_size(), 4}));
}

}  // namespace
}  // namespace dikkat
