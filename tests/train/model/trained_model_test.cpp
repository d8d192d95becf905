#include "train/model/trained_model.h"

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

Config small_config() {
  Config config;
  config.model.n_layer = 1;
  config.model.n_head = 2;
  config.model.n_embd = 8;
  config.model.block_size = 4;
  config.tokenizer.kind = ByteTokenizer::kKind;
  return config;
}

std::vector<float> weights(const LanguageModel& model) {
  const float* first = model.parameters().weights<float>();
  return {first, first + model.parameters().slab_size()};
}

TEST(SaveModel, WritesCheckpointsThatLoadTrainedModelReads) {
  const TemporaryFolder folder;
  const ByteTokenizer tokenizer;
  LanguageModel model(small_config().model, tokenizer.vocab_size());
  model.parameters().allocate(7);
  TrainingState state;
  state.step = 12;
  const SavedCheckpoint saved = save_model(folder / "saved", model, tokenizer, small_config(), state);
  EXPECT_EQ(saved.path(), folder / "saved/step-000000012.h5");

  const TrainedModel loaded = load_trained_model(saved.path().string());
  EXPECT_EQ(weights(*loaded.model), weights(model));
  EXPECT_EQ(loaded.tokenizer->to_json(), tokenizer.to_json());
  EXPECT_EQ(loaded.config.model.n_hidden, 32);
  EXPECT_EQ(loaded.config.model.vocab_size, 256);
  EXPECT_EQ(loaded.origin.state().step, 12);

  const SavedCheckpoint again = save_model(folder / "again", *loaded.model, *loaded.tokenizer, loaded.config, loaded.origin.state());
  EXPECT_EQ(CheckpointFile::open(again.path()).hash(), CheckpointFile::open(saved.path()).hash());
}

TEST(SaveModel, DoesNotOverwriteAnotherCheckpointOfThatName) {
  const TemporaryFolder folder;
  const ByteTokenizer tokenizer;
  LanguageModel model(small_config().model, tokenizer.vocab_size());
  model.parameters().allocate(7);
  const std::string first = CheckpointFile::open(save_model(folder.path(), model, tokenizer, small_config()).path()).hash();
  EXPECT_NO_THROW(save_model(folder.path(), model, tokenizer, small_config())) << "the same bytes";
  model.parameters().weights<float>()[0] += 1;
  EXPECT_THROW(save_model(folder.path(), model, tokenizer, small_config()), Error);
  EXPECT_EQ(CheckpointFile::open(folder / "step-000000000.h5").hash(), first);
}

// The first checkpoint that every later version reads (tests/train/checkpoint/fixtures).
TEST(TrainedModel, TheFixtureOfFormat3IsUsable) {
  const auto path = std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/train/checkpoint/fixtures/format-3.h5";
  TrainedModel trained = load_trained_model(path.string());
  EXPECT_EQ(trained.config.model.norm_position, NormPosition::pre);
  EXPECT_EQ(trained.config.model.vocab_size, trained.tokenizer->vocab_size());
  EXPECT_EQ(trained.model->parameters().entry("wte.weight").shape(), (Shape{trained.tokenizer->vocab_size(), 4}));
}

}  // namespace
}  // namespace dikkat
