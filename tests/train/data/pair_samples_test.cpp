#include "train/data/samples/pair_samples.h"

#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "train/data/samples/loader.h"

namespace dikkat {
namespace {

using testing::names;

/// `count` pairs: a source of 1 + i % 19 words, a target of 1 + i % 13.
struct SomePairs {
  explicit SomePairs(index count)
      : corpus(read(count)), tokenizer(make_tokenizer({.kind = "word"}, corpus)), store(*tokenizer, corpus.pairs) {}

  PairCorpus read(index count) const {
    std::string text;
    for (index i = 0; i < count; ++i) {
      for (index word = 0; word <= i % 19; ++word) {
        text += concat(word > 0 ? " " : "", "s", i, "_", word);
      }
      for (index word = 0; word <= i % 13; ++word) {
        text += concat(word > 0 ? " " : "\t", "t", i, "_", word);
      }
      text += '\n';
    }
    return read_pairs(std::vector<std::string>{folder.write("pairs.tsv", text)});
  }

  TemporaryFolder folder;
  PairCorpus corpus;
  std::unique_ptr<Tokenizer> tokenizer;
  PairStore store;
};

TEST(PairSamples, ShiftTargetsByOneAndPad) {
  const SomePairs pairs(40);
  const PairSamples samples(pairs.store);
  const SequenceTokens special = pairs.store.special_tokens();
  ASSERT_EQ(samples.count(), 40);
  EXPECT_EQ(samples.longest(), (RowLengths{.cols = 14, .source_cols = 20}));
  EXPECT_EQ(samples.lengths(0), (RowLengths{.cols = 8, .source_cols = 8}));
  EXPECT_EQ(samples.lengths(12), (RowLengths{.cols = 14, .source_cols = 16})) << "16 would be more than any needs";
  Batch batch;
  batch.reshape(2, samples.longest());
  samples.fill(0, 2, 0, batch);   // 3 words to 3
  samples.fill(0, 18, 1, batch);  // 19 words to 6
  EXPECT_EQ(batch.target_weight, 4 + 7);
  EXPECT_EQ(samples.target_weight(18), 7);
  EXPECT_EQ(batch.source_lengths, (std::vector<std::int32_t>{4, 20}));
  const auto words = [&](const std::vector<Token>& tokens, std::size_t begin, std::size_t count) {
    return pairs.tokenizer->decode(std::span(tokens).subspan(begin, count));
  };
  EXPECT_EQ(words(batch.source, 0, 5), "s2_0 s2_1 s2_2 <end> <pad>");
  EXPECT_EQ(words(batch.inputs, 0, 5), "<start> t2_0 t2_1 t2_2 <pad>");
  EXPECT_EQ(words(batch.targets, 0, 5), "t2_0 t2_1 t2_2 <end> <pad>");
  EXPECT_EQ(words(batch.inputs, 14, 7), "<start> t18_0 t18_1 t18_2 t18_3 t18_4 t18_5");
  for (std::size_t at = 0; at < 14; ++at) {
    EXPECT_EQ(batch.weights[at], at < 4 ? 1.0F : 0.0F);
    EXPECT_EQ(batch.targets[at] == special.pad, at >= 4);
    EXPECT_EQ(batch.weights[14 + at], at < 7 ? 1.0F : 0.0F);
  }
}

TEST(PairSamples, ABatchIsAsLongAsItsStepWants) {
  const SomePairs pairs(40);
  const PairSamples samples(pairs.store);
  const Loader loader(samples, 3);
  Batch batch;
  std::set<std::string> shapes;
  for (index step = 0; step < 20; ++step) {
    RowLengths first;
    double weight = 0;
    for (index micro = 0; micro < 3; ++micro) {
      loader.fill({step * 6 + micro * 2, 2}, loader.step({step * 6, 6}), batch);
      first = micro == 0 ? batch.lengths : first;
      weight += batch.target_weight;
      ASSERT_EQ(batch.lengths, first) << "micro-batches of a step have one shape";
      for (const std::int32_t length : batch.source_lengths) {
        ASSERT_LE(length, batch.lengths.source_cols);
      }
    }
    ASSERT_EQ(batch.step_weight, weight);
    shapes.insert(concat(first.cols, " x ", first.source_cols));
  }
  EXPECT_GE(shapes.size(), 2U) << "the case is void";
  EXPECT_LE(shapes.size(), 6U) << "lengths are rounded, so that shapes come again";
}

TEST(PairSamples, AnEpochHasEachPairOnce) {
  const SomePairs pairs(40);
  const PairSamples samples(pairs.store);
  const Loader loader(samples, 3);
  std::set<std::vector<Token>> seen;
  Batch batch;
  for (index i = 0; i < 40; ++i) {
    loader.fill({40 + i, 1}, batch);
    seen.insert(batch.source);
  }
  EXPECT_EQ(seen.size(), 40U);
}

TEST(PairSamples, NoPairsAreRefused) {
  const SomePairs pairs(2);
  const PairStore none(*pairs.tokenizer, {});
  EXPECT_TRUE(names(input_error_of([&] { PairSamples{none}; }), {"no pairs", "SOURCE<TAB>TARGET"}));
}

}  // namespace
}  // namespace dikkat
