#include "train/data/samples/read_texts.h"

#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/data/samples/loader.h"

// Packed rows of texts that a model only reads.
namespace dikkat {
namespace {

/// Text i has lengths[i] tokens: i * 100, i * 100 + 1 ...
ReadTextStore store_of(const std::vector<index>& lengths) {
  ReadTextStore store;
  for (const index length : lengths) {
    std::vector<Token> text(static_cast<std::size_t>(length));
    std::iota(text.begin(), text.end(), static_cast<Token>(100 * store.count()));
    store.append(text);
  }
  return store;
}

TEST(ReadTexts, ArePackedWithTheirPlaces) {
  const ReadTextStore store = store_of({3, 7, 5, 2});
  EXPECT_EQ(store.tokens(), 17);
  const ReadTextSamples samples(store, 10);
  ASSERT_EQ(samples.count(), 2) << "7 and 3, 5 and 2";
  EXPECT_EQ(samples.longest(), (RowLengths{.cols = 10, .packed = true, .texts = 2}));
  EXPECT_EQ(samples.units(0), 2);
  EXPECT_EQ(samples.target_weight(1), 7);
  Batch batch;
  batch.reshape(2, samples.longest());
  samples.fill(0, 1, 0, batch);
  samples.fill(0, 0, 1, batch);
  EXPECT_EQ(batch.inputs, (std::vector<Token>{200, 201, 202, 203, 204, 300, 301, 0, 0, 0, 100, 101, 102, 103, 104, 105, 106, 0, 1, 2}));
  EXPECT_EQ(batch.starts, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 5, 5, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7}));
  EXPECT_EQ(batch.units, 4);
  EXPECT_EQ(batch.target_weight, 17);
  EXPECT_EQ(std::accumulate(batch.weights.begin(), batch.weights.end(), 0.0F), 0) << "nothing is predicted";
  std::vector<std::vector<index>> places;
  for (const ReadText& text : batch.texts) {
    places.push_back({text.number, text.begin, text.length});
  }
  EXPECT_EQ(places, (std::vector<std::vector<index>>{{2, 0, 5}, {3, 5, 2}, {1, 10, 7}, {0, 17, 3}}));
  batch.reshape(1, samples.longest());
  EXPECT_TRUE(batch.texts.empty()) << "texts of the batch before";
}

TEST(ReadTexts, AreRefusedIfNoRowHoldsThem) {
  EXPECT_THROW(ReadTextSamples(store_of({3, 7}), 6), Error) << "a text is longer than a row";
  EXPECT_THROW(ReadTextSamples(ReadTextStore(), 8), InputError);
  ReadTextStore with_none;
  EXPECT_THROW(with_none.append({}), Error);
}

TEST(ReadTexts, OccurOnceInEachEpochInItsOrder) {
  const ReadTextStore store = store_of({5, 5, 5, 5, 5, 5, 5, 5, 5});
  const ReadTextSamples samples(store, 5);
  const Loader loader(samples, 7);
  std::vector<std::vector<index>> epochs;
  for (index epoch = 0; epoch < 2; ++epoch) {
    Batch batch;
    const Loader::Range range{.first = 9 * epoch, .count = 9};
    loader.fill(range, batch);
    EXPECT_EQ(batch.step_units, 9);
    std::vector<index> order;
    for (const ReadText& text : batch.texts) {
      order.push_back(text.number);
    }
    EXPECT_EQ(std::set<index>(order.begin(), order.end()).size(), 9U);
    epochs.push_back(order);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

}  // namespace
}  // namespace dikkat
