#include "train/data/samples/loader.h"

#include <atomic>
#include <limits>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/samples/prefetcher.h"
#include "train/data/samples/windows.h"

namespace dikkat {
namespace {

using testing::names;

/// Tokens 0 to n - 1: each token is its position.
TokenStore counting(index n) {
  std::vector<Token> tokens(static_cast<std::size_t>(n));
  std::iota(tokens.begin(), tokens.end(), 0);
  TokenStore store(std::max<index>(n, 1));
  store.append(tokens);
  return store;
}

Batch filled(const Loader& loader, index first_sample, index count) {
  Batch batch;
  loader.fill({first_sample, count}, batch);
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
        const TrainingWindows windows(store, block, seed);
        const Loader loader(windows, seed);
        ASSERT_EQ(loader.epoch_size(), (n - 1) / block);
        for (index epoch = 0; epoch < 3; ++epoch) {
          const index offset = windows.offset(epoch);
          ASSERT_TRUE(offset >= 0 && offset <= (n - 1) % block) << offset;
          const Batch batch = filled(loader, epoch * loader.epoch_size(), loader.epoch_size());
          // Each window of the epoch begins at the offset plus a multiple of the block, and occurs once.
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
          ASSERT_EQ(*starts.rbegin(), offset + (loader.epoch_size() - 1) * block);
        }
      }
    }
  }
}

TEST(Loader, OffsetAndOrderChangeFromEpochToEpoch) {
  const TokenStore store = counting(1000);
  const TrainingWindows windows(store, 64, 1);
  const Loader loader(windows, 1);  // 15 windows, offsets 0 to 39
  std::set<index> offsets;
  std::set<std::vector<Token>> orders;
  for (index epoch = 0; epoch < 400; ++epoch) {
    offsets.insert(windows.offset(epoch));
    Batch batch = filled(loader, epoch * loader.epoch_size(), loader.epoch_size());
    std::vector<Token> order;
    for (index row = 0; row < batch.rows; ++row) {
      order.push_back(batch.inputs[static_cast<std::size_t>(row * 64)] - static_cast<Token>(windows.offset(epoch)));
    }
    orders.insert(order);
  }
  EXPECT_EQ(offsets.size(), 40U) << "each offset comes up in 400 epochs, except with probability 40 * (39/40)^400 = 0.002";
  EXPECT_EQ(orders.size(), 400U);
  EXPECT_NE(filled(loader, 0, 15).inputs, filled(Loader(windows, 2), 0, 15).inputs) << "another seed";
}

TEST(Loader, ASampleDoesNotDependOnItsBatch) {
  const TokenStore store = counting(100);
  const TrainingWindows windows(store, 8, 7);
  const Loader loader(windows, 7);  // 12 windows: batches of 5 run over the ends of epochs
  const Batch all = filled(loader, 0, 60);
  for (index first = 0; first < 55; ++first) {
    const Batch batch = filled(loader, first, 5);
    ASSERT_TRUE(std::equal(batch.inputs.begin(), batch.inputs.end(), all.inputs.begin() + first * 8)) << first;
    ASSERT_TRUE(std::equal(batch.targets.begin(), batch.targets.end(), all.targets.begin() + first * 8)) << first;
  }
}

TEST(Loader, AllWeightsAreOne) {
  const TokenStore store = counting(100);
  const TrainingWindows windows(store, 8, 7);
  const Loader loader(windows, 7);
  const Batch batch = filled(loader, 3, 4);
  EXPECT_EQ(batch.rows, 4);
  EXPECT_EQ(batch.lengths, (RowLengths{.cols = 8}));
  EXPECT_EQ(batch.weights, std::vector<float>(32, 1.0F));
  EXPECT_EQ(batch.target_weight, 32);
  EXPECT_EQ(batch.step_weight, 32);
}

TEST(Loader, ABatchKnowsTheWeightOfItsStep) {
  const TokenStore store = counting(100);
  const TrainingWindows windows(store, 8, 7);
  const Loader loader(windows, 7);
  Batch batch;
  loader.fill({6, 2}, loader.step({4, 6}), batch);
  EXPECT_EQ(batch.target_weight, 16);
  EXPECT_EQ(batch.step_weight, 48);
  EXPECT_THROW(loader.fill({3, 2}, loader.step({4, 6}), batch), Error);
  EXPECT_THROW(loader.fill({9, 2}, loader.step({4, 6}), batch), Error);
}

TEST(TrainingWindows, RefuseFewerTokensThanAWindow) {
  const TokenStore store = counting(64);
  EXPECT_TRUE(names(input_error_of([&] { TrainingWindows(store, 64, 1); }), {"64", "65", "model.block_size"}));
  EXPECT_EQ(TrainingWindows(store, 63, 1).count(), 1);
  EXPECT_THROW(TrainingWindows(store, std::numeric_limits<index>::max(), 1), InputError);
  EXPECT_THROW(TrainingWindows(store, 0, 1), Error);
  EXPECT_THROW(TrainingWindows(TokenStore(5), 1, 1), InputError);
}

TEST(Loader, RefusesImpossibleSamples) {
  const TokenStore store = counting(100);
  const TrainingWindows windows(store, 8, 7);
  const Loader loader(windows, 7);
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
      Batch batch;
      batch.reshape(windows.count(), windows.longest());
      double weight = 0;
      for (index window = 0; window < windows.count(); ++window) {
        windows.fill(0, window, window, batch);
        weight += windows.target_weight(window);
      }
      for (std::size_t at = 0; at < batch.inputs.size(); ++at) {
        const auto token = static_cast<Token>(at);
        const bool counted = token < n - 1;
        ASSERT_EQ(batch.weights[at], counted ? 1.0F : 0.0F);
        ASSERT_EQ(batch.inputs[at], counted ? token : 0);
        ASSERT_EQ(batch.targets[at], counted ? token + 1 : 0);
      }
      ASSERT_EQ(batch.target_weight, static_cast<double>(n - 1));
      ASSERT_EQ(weight, static_cast<double>(n - 1));
    }
  }
}

TEST(SequentialWindows, WithAStrideCountEachPredictionOnceWithMoreContext) {
  for (const index n : {2, 3, 8, 9, 10, 16, 17, 18, 100}) {
    for (const index stride : {1, 3, 8}) {
      const index block = 8;
      const TokenStore store = counting(n);
      const SequentialWindows windows(store, block, stride);
      Batch batch;
      batch.reshape(windows.count(), windows.longest());
      std::vector<int> counted(static_cast<std::size_t>(n));
      double weight = 0;
      for (index window = 0; window < windows.count(); ++window) {
        windows.fill(0, window, window, batch);
        weight += windows.target_weight(window);
        for (index at = 0; at < block; ++at) {
          const auto i = static_cast<std::size_t>(window * block + at);
          if (batch.weights[i] == 1.0F) {
            ++counted[static_cast<std::size_t>(batch.targets[i])];
            ASSERT_EQ(batch.targets[i], batch.inputs[i] + 1);
            ASSERT_TRUE(window == 0 || at >= block - stride) << "context before each prediction";
          }
        }
      }
      for (std::size_t token = 1; token < counted.size(); ++token) {
        ASSERT_EQ(counted[token], 1) << n << " " << stride << " " << token;
      }
      ASSERT_EQ(batch.target_weight, static_cast<double>(n - 1));
      ASSERT_EQ(weight, static_cast<double>(n - 1));
    }
  }
  const TokenStore store = counting(10);
  EXPECT_TRUE(names(input_error_of([&] { SequentialWindows(store, 4, 5); }), {"stride", "5", "1", "4"}));
}

/// Documents of these lengths, of tokens counting up, with -1 for a separator (token 0) between them.
TokenStore documents_of(std::initializer_list<index> lengths, bool separated) {
  TokenStore store(1000);
  Token next = 1;
  for (const index length : lengths) {
    if (separated && store.size() > 0) {
      store.append(std::vector<Token>{0});
    }
    store.begin_document();
    for (index i = 0; i < length; ++i) {
      store.append(std::vector<Token>{next++});
    }
  }
  return store;
}

/// Formats the predictions of each window, such as "1>2 2>3".
std::vector<std::string> predictions_of(const Samples& samples) {
  std::vector<std::string> all;
  for (index sample = 0; sample < samples.count(); ++sample) {
    Batch batch;
    batch.reshape(1, samples.longest());
    samples.fill(0, sample, 0, batch);
    std::string text;
    double weight = 0;
    for (std::size_t at = 0; at < batch.inputs.size(); ++at) {
      if (batch.weights[at] == 1.0F) {
        text += concat(text.empty() ? "" : " ", batch.inputs[at], ">", batch.targets[at]);
        ++weight;
      }
    }
    EXPECT_EQ(batch.target_weight, weight);
    EXPECT_EQ(samples.target_weight(sample), weight);
    all.push_back(text);
  }
  return all;
}

TEST(DocumentWindows, NeverCrossIntoAnotherDocument) {
  using Predictions = std::vector<std::string>;
  const TokenStore separated = documents_of({3, 1, 5}, true);  // 1 2 3 0 4 0 5 6 7 8 9
  EXPECT_EQ(predictions_of(DocumentWindows(separated, 4, true)), (Predictions{"1>2 2>3 3>0", "0>4 4>0", "0>5 5>6 6>7 7>8", "8>9"}));
  const TokenStore plain = documents_of({3, 1, 5}, false);
  EXPECT_EQ(predictions_of(DocumentWindows(plain, 4, false)), (Predictions{"1>2 2>3", "5>6 6>7 7>8 8>9"}));
  const TokenStore short_ones = documents_of({1, 1}, false);
  EXPECT_TRUE(names(input_error_of([&] { DocumentWindows(short_ones, 4, false); }), {"document", "2"}));
}

TEST(SequentialWindows, RefuseTooLittleText) {
  const TokenStore one = counting(1);
  EXPECT_TRUE(names(input_error_of([&] { SequentialWindows(one, 8); }), {"1", "2", "data.val_fraction"}));
  const TokenStore store = counting(10);
  const SequentialWindows windows(store, 4);
  Batch batch;
  batch.reshape(1, windows.longest());
  EXPECT_THROW(windows.fill(0, -1, 0, batch), Error);
  EXPECT_THROW(windows.fill(0, 3, 0, batch), Error);
  EXPECT_THROW(SequentialWindows(store, 0), Error);
}

TEST(Prefetcher, GivesTheBatchesOfFillFromAnyStart) {
  const TokenStore store = counting(200);
  const TrainingWindows windows(store, 8, 3);
  const Loader loader(windows, 3);  // 24 windows
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

/// Counts how often it is asked how long a sample is.
struct Counted : TrainingWindows {
  using TrainingWindows::TrainingWindows;
  RowLengths lengths(index sample) const override {
    ++asked;
    return TrainingWindows::lengths(sample);
  }
  mutable std::atomic<index> asked = 0;
};

TEST(Prefetcher, LooksThroughAStepOnceHoweverManyBatchesItHas) {
  const TokenStore store = counting(200);
  const Counted windows(store, 8, 3);
  const Loader loader(windows, 3);
  {
    Prefetcher prefetcher(loader, 0, 2, 10);
    for (int batch = 0; batch < 29; ++batch) {
      EXPECT_EQ(prefetcher.next().step_weight, 20 * 8);
    }
  }
  EXPECT_EQ(windows.asked, 3 * 20);
}

TEST(Prefetcher, HasStepsOfTheGivenNumberOfBatches) {
  const TokenStore store = counting(200);
  const TrainingWindows windows(store, 8, 3);
  const Loader loader(windows, 3);
  index step = 0;
  Prefetcher prefetcher(loader, 5, 2, [&] { return ++step; });
  index sample = 5;
  for (index batches = 1; batches <= 4; ++batches) {
    for (index batch = 0; batch < batches; ++batch) {
      const Batch& found = prefetcher.next();
      EXPECT_EQ(found.step_weight, static_cast<double>(batches * 2 * 8)) << "the weight of the whole step";
      EXPECT_EQ(found.inputs, filled(loader, sample, 2).inputs);
      sample += 2;
    }
  }
}

TEST(Prefetcher, UsesTwoBatchesAgainAndAgain) {
  const TokenStore store = counting(200);
  const TrainingWindows windows(store, 8, 3);
  const Loader loader(windows, 3);
  Prefetcher prefetcher(loader, 0, 4);
  std::set<const Token*> buffers;
  for (int step = 0; step < 100; ++step) {
    buffers.insert(prefetcher.next().inputs.data());
  }
  EXPECT_EQ(buffers.size(), 2U);
}

TEST(Prefetcher, ThrowsTheExceptionOfTheTask) {
  const TokenStore store = counting(200);
  const TrainingWindows windows(store, 8, 3);
  const Loader loader(windows, 3);
  Prefetcher prefetcher(loader, std::numeric_limits<index>::max() - 7, 4);  // samples run out after the first batch
  EXPECT_NO_THROW(prefetcher.next());
  EXPECT_THROW(prefetcher.next(), Error);
  EXPECT_THROW(prefetcher.next(), Error) << "no stale batch afterwards";
  EXPECT_THROW(Prefetcher(loader, -1, 4), Error);
  EXPECT_THROW(Prefetcher(loader, 0, 0), Error);
}

TEST(Prefetcher, MayBeDestroyedWhileItWorks) {
  const TokenStore store = counting(100000);
  const TrainingWindows windows(store, 64, 3);
  const Loader loader(windows, 3);
  for (int i = 0; i < 50; ++i) {
    Prefetcher prefetcher(loader, i, 200);
    if (i % 2 == 0) {
      prefetcher.next();
    }
  }
}

}  // namespace
}  // namespace dikkat
