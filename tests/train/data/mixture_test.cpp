#include "train/data/samples/mixture.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/windows.h"

namespace dikkat {
namespace {

using testing::names;

const std::vector<std::vector<double>> kWeights = {{1},          {1, 1},         {3, 1},    {0.2, 0.8},
                                                   {1, 2, 3, 4}, {0.999, 0.001}, {1e-5, 1}, {7, 0.5, 0.5, 7, 11}};

TEST(Mixture, EachSourceIsSeenInOrderAndCounted) {
  for (const std::vector<double>& weights : kWeights) {
    const Mixture mixture(weights);
    ASSERT_EQ(mixture.sources(), static_cast<index>(weights.size()));
    std::vector<index> seen(weights.size(), 0);
    for (index position = 0; position < 5000; ++position) {
      for (std::size_t source = 0; source < seen.size(); ++source) {
        ASSERT_EQ(mixture.taken(static_cast<index>(source), position), seen[source]) << position;
      }
      const Mixture::Place place = mixture.at(position);
      ASSERT_EQ(place.number, seen[static_cast<std::size_t>(place.source)]++) << position;
    }
  }
}

TEST(Mixture, SharesHoldAnywhereInARun) {
  for (const std::vector<double>& weights : kWeights) {
    const Mixture mixture(weights);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const index from : {index{0}, index{12345}, index{1} << 37}) {
      for (const index count : {1, 10, 1000, 1000000}) {
        for (std::size_t source = 0; source < weights.size(); ++source) {
          const auto number = static_cast<index>(source);
          const auto taken = static_cast<double>(mixture.taken(number, from + count) - mixture.taken(number, from));
          const double expected = weights[source] / sum * static_cast<double>(count);
          const double rounding = static_cast<double>(count) * 0x1p-23;
          ASSERT_LT(std::abs(taken - expected), static_cast<double>(weights.size()) + rounding)
              << source << " of " << weights.size() << " from " << from;
        }
      }
    }
  }
}

TEST(Mixture, RefusesWeightsThatGiveNothing) {
  for (const std::vector<double>& bad : {std::vector<double>{}, {0}, {1, -1}, {1, 0}, {1e-9, 1}, {std::nan(""), 1}, {INFINITY, 1}}) {
    EXPECT_TRUE(names(testing::error_of([&] { Mixture mixture(bad); }), {"mixture", "weight"}));
  }
  EXPECT_TRUE(names(testing::error_of([&] { Mixture(kWeights[1]).at(-1); }), {"mixture", "position", "-1"}));
}

/// `n` tokens from `first` on: each token gives its position.
TokenStore counting_from(Token first, index n) {
  std::vector<Token> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), first);
  TokenStore store(1000);
  store.append(tokens);
  return store;
}

TEST(LoaderOfSources, EachSourceHasTheOrderThatItHasWithoutOthers) {
  constexpr index kBlock = 4;
  const TokenStore texts[] = {counting_from(0, 50), counting_from(500, 90)};
  const TrainingWindows a(texts[0], kBlock, 7), b(texts[1], kBlock, 7);
  const Loader mixed({{.samples = &a, .weight = 1}, {.samples = &b, .weight = 2}}, 7);
  const Loader alone[] = {Loader(a, 7), Loader(b, 7)};
  constexpr index kRows = 150;  // several epochs of each
  Batch of_both, of_a, of_b;
  mixed.fill({0, kRows}, of_both);
  alone[0].fill({0, 50}, of_a);
  alone[1].fill({0, 100}, of_b);
  index next[] = {0, 0};
  for (index row = 0; row < kRows; ++row) {
    const Token first = of_both.inputs[static_cast<std::size_t>(row * kBlock)];
    const std::size_t source = first >= 500 ? 1 : 0;
    const Batch& expected = source == 0 ? of_a : of_b;
    ASSERT_EQ(first, expected.inputs[static_cast<std::size_t>(next[source]++ * kBlock)]) << row;
  }
  EXPECT_EQ(next[0], 50);
  EXPECT_EQ(next[1], 100);
  EXPECT_DOUBLE_EQ(mixed.epochs(0, kRows), 50.0 / static_cast<double>(a.count()));
  EXPECT_DOUBLE_EQ(mixed.epochs(1, kRows), 100.0 / static_cast<double>(b.count()));
  EXPECT_EQ(mixed.epoch_size(), a.count() + b.count());
}

TEST(LoaderOfSources, AStreamAmongPackedRowsIsOneSequence) {
  constexpr index kBlock = 8;
  TokenStore text = counting_from(0, 100), documents(1000);
  for (const index length : {3, 5, 4, 4, 2, 6}) {
    std::vector<Token> tokens(static_cast<std::size_t>(length), 600);
    documents.begin_document();
    documents.append(tokens);
  }
  const TrainingWindows stream(text, kBlock, 7);
  const DocumentWindows windows(documents, kBlock, false);
  const PackedSamples packed(windows, kBlock);
  const Loader loader({{.samples = &stream, .weight = 1}, {.samples = &packed, .weight = 1}}, 7);
  Batch batch;
  loader.fill({0, 10}, batch);
  ASSERT_TRUE(batch.lengths.packed);
  std::fill(batch.starts.begin(), batch.starts.end(), 77);  // left by an earlier batch
  loader.fill({0, 10}, batch);
  for (index row = 0; row < 10; ++row) {
    const auto at = static_cast<std::size_t>(row * kBlock);
    if (batch.inputs[at] < 600) {
      EXPECT_TRUE(std::all_of(batch.starts.begin() + row * kBlock, batch.starts.begin() + (row + 1) * kBlock, [](std::int32_t start) {
        return start == 0;
      })) << row;
    } else {
      EXPECT_EQ(batch.starts[at], 0);
      EXPECT_GT(batch.starts[at + 6], 0) << "rows of short documents hold several";
    }
  }
}

}  // namespace
}  // namespace dikkat
