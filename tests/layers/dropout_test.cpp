#include "layers/dropout.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

std::vector<float> ones(index count) { return std::vector<float>(static_cast<std::size_t>(count), 1.0F); }

std::vector<float> dropped(const Dropout& layer, Shape shape, index first_sequence, std::uint64_t step = 4) {
  Tape tape;
  Pass pass{.tape = tape, .training = true, .seed = 11, .step = step, .first_sequence = first_sequence};
  const Tensor y = layer(pass, tape.input<float>(shape, ones(shape.size())));
  return {y.data<float>(), y.data<float>() + y.size()};
}

// A sequence has 15 elements, so pieces begin in the middle of a group of four random words.
TEST(DropoutLayer, DropsTheSameInPiecesOfABatch) {
  ParameterStore store;
  const Dropout layer(Scope(store) / "drop", 0.5);
  const std::vector<float> whole = dropped(layer, {7, 3, 5}, 0);
  std::vector<float> pieces;
  for (const auto& [first, count] : {std::pair<index, index>{0, 1}, {1, 3}, {4, 2}, {6, 1}}) {
    const std::vector<float> piece = dropped(layer, {count, 3, 5}, first);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
}

TEST(DropoutLayer, KeepsTheMeanAndDropsAsOftenAsAsked) {
  ParameterStore store;
  const Dropout layer(Scope(store) / "drop", 0.25);
  const index count = 40'000;
  index zeros = 0;
  for (const float y : dropped(layer, {4, count / 4}, 0)) {
    ASSERT_TRUE(y == 0.0F || y == 1.0F / 0.75F) << y;
    zeros += y == 0.0F ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(count), 0.25, 0.011);  // five standard errors
}

TEST(DropoutLayer, DrawsAnewForEachPlaceInTheModelAndEachStep) {
  ParameterStore store;
  const Dropout here(Scope(store) / "h" / index{0} / "dropout", 0.5), there(Scope(store) / "h" / index{1} / "dropout", 0.5);
  const std::vector<float> first = dropped(here, {1, 64}, 0);
  EXPECT_EQ(dropped(here, {1, 64}, 0), first);
  EXPECT_NE(dropped(there, {1, 64}, 0), first);
  EXPECT_NE(dropped(here, {1, 64}, 0, 5), first);
}

TEST(DropoutLayer, PassesOnEmptyTensorsAndOutsideOfTraining) {
  ParameterStore store;
  const Dropout layer(Scope(store) / "drop", 0.5);
  EXPECT_TRUE(dropped(layer, {0, 3}, 0).empty());
  Tape tape;
  Pass evaluation{.tape = tape};
  const Tensor x = tape.input<float>({2, 3}, ones(6));
  EXPECT_EQ(layer(evaluation, x), x);
}

}  // namespace
}  // namespace dikkat
