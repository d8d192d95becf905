#include "train/data/loader.h"

#include <limits>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/prefetcher.h"
#include "train/data/sequential_windows.h"

namespace dikkat {
namespace {

/// Tokens 0 to n - 1: a token says where it lies.
TokenStore counting(index n) {
  std::vector<Token> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), 0);
  TokenStore store(std::max<index>(n, 1));
  store.append(tokens);
  return store;
}

Batch filled(const Loader& loader, index first_sample, index count) {
  Batch batch;
  loader.fill(first_sample, count, batch);
  return batch;
}

TEST(Loader, EveryWindowIsSeenOncePerEpoch) {
  for (const index n : {2, 3, 7, 8, 9, 10, 17, 31, 64, 65, 66, 100, 257}) {
    for (const index block : {1, 2, 3, 8, 16, 64}) {
      if (n < block + 1) {
        continue;
      }
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1337}}) {
        const TokenStore store = counting(n);
        const Loader loader(store, block, seed);
        ASSERT_EQ(loader.windows(), (n - 1) / block);
        for (index epoch = 0; epoch < 3; ++epoch) {
          const index offset = loader.offset(epoch);
          ASSERT_TRUE(offset >= 0 && offset <= (n - 1) % block) << offset;
          const Batch batch = filled(loader, epoch * loader.windows(), loader.windows());
          std::set<index> starts;
          for (index row = 0; row < batch.rows; ++row) {
            const index start = batch.inputs[static_cast<std::size_t>(row * block)];
            ASSERT_EQ((start - offset) % block, 0);
            ASSERT_TRUE(starts.insert(start).second) << "seen twice";
            for (index i = 0; i < block; ++i) {
              const auto at = static_cast<std::size_t>(row * block + i);
              ASSERT_EQ(batch.inputs[at], start + i);
              ASSERT_EQ(batch.targets[at], start + i + 1);
            }
          }
          ASSERT_EQ(*starts.begin(), offset);
          ASSERT_EQ(*starts.rbegin(), offset + (loader.windows() - 1) * block);
        }
      }
    }
  }
}

TEST(Loader, OffsetAndOrderChangeFromEpochToEpoch) {
  const TokenStore store = counting(1000);
  const Loader loader(store, 64, 1);  // 15 windows, offsets 0 to 39
  std::set<index> offsets;
  std::set<std::vector<Token>> orders;
  for (index epoch = 0; epoch < 400; ++epoch) {
    offsets.insert(loader.offset(epoch));
    Batch batch = filled(loader, epoch * loader.windows(), loader.windows());
    std::vector<Token> order;
    for (index row = 0; row < batch.rows; ++row) {
      order.push_back(batch.inputs[static_cast<std::size_t>(row * 64)] - static_cast<Token>(loader.offset(epoch)));
    }
    orders.insert(order);
  }
  EXPECT_EQ(offsets.size(), 40U) << "each offset comes up in 400 epochs, but for a chance of 40 * (39/40)^400 = 0.002";
  EXPECT_EQ(orders.size(), 400U);
  EXPECT_NE(filled(loader, 0, 15).inputs, filled(Loader(store, 64, 2), 0, 15).inputs) << "another seed";
}

TEST(Loader, ASampleDoesNotDependOnItsBatch) {
  const TokenStore store = counting(100);
  const Loader loader(store, 8, 7);  // 12 windows: batches of 5 run over the ends of epochs
  const Batch all = filled(loader, 0, 60);
  for (index first = 0; first < 55; ++first) {
    const Batch batch = filled(loader, first, 5);
    ASSERT_TRUE(std::equal(batch.inputs.begin(), batch.inputs.end(), all.inputs.begin() + first * 8)) << first;
    ASSERT_TRUE(std::equal(batch.targets.begin(), batch.targets.end(), all.targets.begin() + first * 8)) << first;
  }
}

TEST(Loader, AllWeightsAreOne) {
  const TokenStore store = counting(100);
  const Loader loader(store, 8, 7);
  const Batch batch = filled(loader, 3, 4);
  EXPECT_EQ(batch.rows, 4);
  EXPECT_EQ(batch.cols, 8);
  EXPECT_EQ(batch.weights_or_null(), nullptr);
  EXPECT_EQ(batch.target_weight, 32);
  EXPECT_EQ(loader.target_weight(3, 4), batch.target_weight);
}

TEST(Loader, RefusesFewerTokensThanAWindow) {
  const TokenStore store = counting(64);
  EXPECT_EQ(
      input_error_of([&] { Loader(store, 64, 1); }),
      "the text for training has 64 tokens, expected at least 65 (model.block_size + 1): give a longer text or a smaller model.block_size");
  EXPECT_EQ(Loader(store, 63, 1).windows(), 1);
  EXPECT_THROW(Loader(store, std::numeric_limits<index>::max(), 1), InputError);
  EXPECT_THROW(Loader(store, 0, 1), Error);
  EXPECT_THROW(Loader(TokenStore(5), 1, 1), InputError);
}

TEST(Loader, RefusesImpossibleSamples) {
  const TokenStore store = counting(100);
  const Loader loader(store, 8, 7);
  EXPECT_THROW(filled(loader, -1, 1), Error);
  EXPECT_THROW(filled(loader, 0, 0), Error);
  EXPECT_THROW(filled(loader, std::numeric_limits<index>::max() - 1, 2), Error);
  EXPECT_NO_THROW(filled(loader, std::numeric_limits<index>::max() - 2, 2));
}

TEST(SequentialWindows, CountEachPredictionOnce) {
  for (const index n : {2, 3, 8, 9, 10, 16, 17, 18, 100}) {
    for (const index block : {1, 2, 8, 16, 128}) {
      const TokenStore store = counting(n);
      const SequentialWindows windows(store, block);
      ASSERT_EQ(windows.targets(), n - 1);
      ASSERT_EQ(windows.count(), (n - 1 + block - 1) / block);
      for (const index rows : {1, 3, 100}) {
        index next = 0;
        double weight = 0;
        Batch batch;
        for (index first = 0; first < windows.count(); first += rows) {
          windows.fill(first, rows, batch);
          ASSERT_EQ(batch.rows, rows);
          ASSERT_EQ(batch.weights.size(), batch.inputs.size());
          for (std::size_t at = 0; at < batch.inputs.size(); ++at) {
            const bool counted = next < n - 1;
            ASSERT_EQ(batch.weights[at], counted ? 1.0F : 0.0F);
            ASSERT_EQ(batch.inputs[at], counted ? next : 0);
            ASSERT_EQ(batch.targets[at], counted ? next + 1 : 0);
            next += counted ? 1 : 0;
          }
          weight += batch.target_weight;
        }
        ASSERT_EQ(next, n - 1);
        ASSERT_EQ(weight, static_cast<double>(n - 1));
      }
    }
  }
}

TEST(SequentialWindows, RefuseTooLittleText) {
  const TokenStore one = counting(1);
  EXPECT_EQ(input_error_of([&] { SequentialWindows(one, 8); }),
            "the text for evaluation has 1 tokens, expected at least 2: give a longer text or a larger data.val_fraction");
  const TokenStore store = counting(10);
  const SequentialWindows windows(store, 4);
  Batch batch;
  EXPECT_THROW(windows.fill(-1, 1, batch), Error);
  EXPECT_THROW(windows.fill(3, 1, batch), Error);
  EXPECT_THROW(windows.fill(0, 0, batch), Error);
  EXPECT_THROW(SequentialWindows(store, 0), Error);
}

TEST(Prefetcher, GivesWhatFillGivesFromAnyStart) {
  const TokenStore store = counting(200);
  const Loader loader(store, 8, 3);  // 24 windows
  for (const index first : {index{0}, index{1}, index{23}, index{1000}}) {
    for (const index batch_size : {index{1}, index{5}, index{24}, index{50}}) {
      Prefetcher prefetcher(loader, first, batch_size);
      for (index step = 0; step < 20; ++step) {
        const Batch& batch = prefetcher.next();
        const Batch expected = filled(loader, first + step * batch_size, batch_size);
        ASSERT_EQ(batch.inputs, expected.inputs);
        ASSERT_EQ(batch.targets, expected.targets);
        ASSERT_EQ(batch.rows, batch_size);
      }
    }
  }
}

TEST(Prefetcher, UsesTwoBatchesAgainAndAgain) {
  const TokenStore store = counting(200);
  const Loader loader(store, 8, 3);
  Prefetcher prefetcher(loader, 0, 4);
  std::set<const Token*> buffers;
  for (int step = 0; step < 100; ++step) {
    buffers.insert(prefetcher.next().inputs.data());
  }
  EXPECT_EQ(buffers.size(), 2U);
}

TEST(Prefetcher, ThrowsWhatTheTaskThrew) {
  const TokenStore store = counting(200);
  const Loader loader(store, 8, 3);
  Prefetcher prefetcher(loader, std::numeric_limits<index>::max() - 7, 4);  // samples run out after the first batch
  EXPECT_NO_THROW(prefetcher.next());
  EXPECT_THROW(prefetcher.next(), Error);
  EXPECT_THROW(prefetcher.next(), Error) << "no stale batch afterwards";
  EXPECT_THROW(Prefetcher(loader, -1, 4), Error);
  EXPECT_THROW(Prefetcher(loader, 0, 0), Error);
}

TEST(Prefetcher, MayBeDestroyedWhileItWorks) {
  const TokenStore store = counting(100000);
  const Loader loader(store, 64, 3);
  for (int i = 0; i < 50; ++i) {
    Prefetcher prefetcher(loader, i, 200);
    if (i % 2 == 0) {
      prefetcher.next();
    }
  }
}

}  // namespace
}  // namespace dikkat
