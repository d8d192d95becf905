#include <gtest/gtest.h>

#include "tests/train/checkpoint/sample.h"

namespace dikkat {
namespace {

// A file of each format that was ever written, by the program of its day.
const std::filesystem::path kFixtures = std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/train/checkpoint/fixtures";

TEST(OldFormat, Format1Loads) {
  const CheckpointFile checkpoint = CheckpointFile::open(kFixtures / "format-1.h5");
  EXPECT_EQ(checkpoint.format(), 1);
  EXPECT_EQ(checkpoint.state().step, 6);
  EXPECT_EQ(checkpoint.state().tokens_seen, 96);
  EXPECT_EQ(checkpoint.state().best_step, 3);
  EXPECT_TRUE(same_bits(checkpoint.state(), [&] {
    TrainingState state = checkpoint.state();
    state.steps_skipped = state.losses_watched = 0;  // what came with format 2
    state.loss_mean = state.loss_variance = 0;
    return state;
  }()));
  std::vector<float> weight(66 * 4);
  checkpoint.read("model/wte.weight", ElementType::f32, {66, 4}, weight.data());
  EXPECT_NE(weight[0], 0);
}

// Today's: the day it changes this file becomes an old one. The numbers are h5dump's.
TEST(OldFormat, Format2Loads) {
  const CheckpointFile checkpoint = CheckpointFile::open(kFixtures / "format-2.h5");
  EXPECT_EQ(checkpoint.format(), 2);
  const TrainingState& state = checkpoint.state();
  EXPECT_EQ(state.step, 6);
  EXPECT_EQ(state.best_step, 3);
  EXPECT_TRUE(state.evaluation_pending);
  EXPECT_EQ(state.losses_watched, 6);
  EXPECT_EQ(state.loss_mean, 3.8690514961878457);
  EXPECT_EQ(state.loss_variance, 3.7999932135651191e-05);
  EXPECT_EQ(checkpoint.tensors().size(), 3 * 16U);
  std::vector<float> numbers(48 * 4);
  checkpoint.read("model/wte.weight", ElementType::f32, {48, 4}, numbers.data());
  EXPECT_EQ(numbers[3 * 4 + 1], -0.00382434716F);
  checkpoint.read("optimizer/v/wte.weight", ElementType::f32, {48, 4}, numbers.data());
  EXPECT_EQ(numbers[3 * 4 + 2], 0.000203469957F);
}

TEST(OldFormat, AFieldOfALaterFormatIsNoneOfItsOwn) {
  const ScratchDirectory scratch;
  const std::string bytes = read_file(kFixtures / "format-1.h5");
  Header header = parse_header(bytes);
  header.format = 2;  // as if it had been written by a later program, which would have written more
  write_file(scratch / "later.h5", render_header(header) + bytes.substr(kHeaderBytes));
  try {
    CheckpointFile::open(scratch / "later.h5");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("/state lacks loss_mean"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace dikkat
