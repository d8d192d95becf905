#include "train/data/samples/shuffled_windows.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "train/data/samples/loader.h"

namespace dikkat {
namespace {

constexpr index kLength = 5;  // tokens of a document, but the last one has fewer

/// Documents whose tokens are their positions.
TokenStore documents_of(index count) {
  TokenStore store(1000);
  for (index document = 0; document < count; ++document) {
    store.begin_document();
    std::vector<Token> tokens(static_cast<std::size_t>(document == count - 1 ? kLength - 2 : kLength));
    std::iota(tokens.begin(), tokens.end(), static_cast<Token>(document * kLength));
    store.append(tokens);
  }
  return store;
}

Batch row_of(const Samples& samples, index epoch, index sample) {
  Batch batch;
  batch.reshape(1, samples.longest());
  samples.fill(epoch, sample, 0, batch);
  return batch;
}

/// The tokens of an epoch from its offset on, as its windows give them.
std::vector<Token> stream_of(const ShuffledWindows& windows, index epoch) {
  std::vector<Token> stream;
  for (index sample = 0; sample < windows.count(); ++sample) {
    const Batch batch = row_of(windows, epoch, sample);
    EXPECT_TRUE(stream.empty() || stream.back() == batch.inputs.front()) << "windows follow each other";
    stream.insert(stream.end(), batch.inputs.begin() + (stream.empty() ? 0 : 1), batch.inputs.end());
    stream.push_back(batch.targets.back());
    EXPECT_TRUE(std::equal(batch.inputs.begin() + 1, batch.inputs.end(), batch.targets.begin()));
    EXPECT_TRUE(std::ranges::equal(batch.inputs, batch.numbers)) << "a target's number is the place of its input";
    EXPECT_EQ(batch.target_weight, static_cast<double>(windows.longest().cols));
  }
  return stream;
}

TEST(ShuffledWindows, HoldWholeDocumentsInAnotherOrderInEachEpoch) {
  constexpr index kDocuments = 20;
  const TokenStore store = documents_of(kDocuments);
  const ShuffledWindows windows(store, 7, 3);
  std::set<std::vector<Token>> orders;
  for (index epoch = 0; epoch < 10; ++epoch) {
    const std::vector<Token> stream = stream_of(windows, epoch);
    EXPECT_EQ(std::set<Token>(stream.begin(), stream.end()).size(), stream.size()) << "no token is there twice";
    std::vector<Token> firsts;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (stream[i] % kLength == 0) {
        firsts.push_back(stream[i]);
      } else if (i > 0) {
        EXPECT_EQ(stream[i], stream[i - 1] + 1) << "within a document";
      }
    }
    const index unseen = store.size() - windows.offset(epoch) - static_cast<index>(stream.size());  // at the end
    EXPECT_EQ(std::ranges::count_if(stream, [](Token t) { return t >= (kDocuments - 1) * kLength; }),
              std::max<index>(0, kLength - 2 - unseen))
        << "the last document is at the end";
    orders.insert(firsts);
  }
  EXPECT_EQ(orders.size(), 10U);
}

TEST(ShuffledWindows, DependOnlyOnSeedAndEpoch) {
  const TokenStore store = documents_of(20);
  const ShuffledWindows windows(store, 7, 3), again(store, 7, 3), other(store, 7, 4);
  std::map<index, std::vector<Token>> epochs;
  for (const index epoch : {0, 1, 2, 3}) {
    epochs[epoch] = stream_of(windows, epoch);
  }
  for (const index epoch : {3, 0, 2, 1, 3}) {
    EXPECT_EQ(stream_of(again, epoch), epochs[epoch]);
  }
  EXPECT_NE(stream_of(other, 1), epochs[1]);
}

TEST(ShuffledWindows, OfFewDocumentsAreThoseOfTheStream) {
  for (const index documents : {1, 2}) {
    const TokenStore store = documents_of(documents);
    const ShuffledWindows shuffled(store, 2, 3);
    const TrainingWindows plain(store, 2, 3);
    for (index epoch = 0; epoch < 3; ++epoch) {
      for (index sample = 0; sample < plain.count(); ++sample) {
        EXPECT_EQ(row_of(shuffled, epoch, sample).inputs, row_of(plain, epoch, sample).inputs);
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
