#include "train/data/samples/packed_samples.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

/// Sequence i has lengths[i] tokens, all of them i.
class Numbers : public Sequences {
 public:
  explicit Numbers(std::vector<index> lengths) : lengths_(std::move(lengths)) {}
  index count() const override { return static_cast<index>(lengths_.size()); }
  index length(index i) const override { return lengths_[static_cast<std::size_t>(i)]; }
  double target_weight(index i) const override { return static_cast<double>(length(i)); }
  void read(index i, Token* inputs, Token* targets, float* weights) const override {
    std::fill_n(inputs, length(i), static_cast<Token>(i));
    std::fill_n(targets, length(i), static_cast<Token>(i + 100));
    std::fill_n(weights, length(i), 1.0F);
  }

 private:
  std::vector<index> lengths_;
};

TEST(Packing, PutsEachIntoTheRowThatFitsBest) {
  const std::vector<index> lengths = {3, 7, 5, 2, 3, 10};
  EXPECT_EQ(pack_best_fit(lengths, 10), (std::vector<std::vector<index>>{{5}, {1, 0}, {2, 4, 3}})) << "30 tokens in three rows of 10";
}

TEST(Packing, FillsRowsWithTheirStarts) {
  const Numbers numbers({3, 7, 5});
  const PackedSamples samples(numbers, 8);
  ASSERT_EQ(samples.count(), 2);
  EXPECT_NEAR(samples.padding(), 1.0 / 16, 1e-12);
  Batch batch;
  batch.reshape(1, samples.longest());
  samples.fill(0, 1, 0, batch);
  EXPECT_EQ(batch.inputs, (std::vector<Token>{2, 2, 2, 2, 2, 0, 0, 0}));
  EXPECT_EQ(batch.starts, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 5, 5, 5}));
  batch.reshape(1, samples.longest());
  samples.fill(0, 0, 0, batch);
  EXPECT_EQ(batch.starts, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 7})) << "padding sees itself";
  EXPECT_EQ(batch.weights.back(), 0.0F);
  EXPECT_EQ(batch.target_weight, 7);
}

}  // namespace
}  // namespace dikkat
