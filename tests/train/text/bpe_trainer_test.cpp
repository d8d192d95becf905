#include "train/text/bpe_trainer.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

StringCounts counts_of(const std::map<std::string, std::uint64_t>& words) {
  StringCounts counts;
  for (const auto& [word, times] : words) {
    counts.add(word, times);
  }
  return counts;
}

std::vector<std::string> learned(const Bpe& bpe) { return {bpe.tokens().begin() + 256, bpe.tokens().end()}; }

// The example is Sennrich et al. 2016, algorithm 1: low 5, lower 2, newest 6, widest 3. Among equally frequent pairs the lower ids win.
TEST(TrainBpe, LearnsThePapersMerges) {
  EXPECT_EQ(learned(train_bpe(counts_of({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}), 256 + 6)),
            (std::vector<std::string>{"es", "est", "lo", "low", "ew", "new"}));
}

TEST(TrainBpe, EndsIfNoPairOccursTwice) {
  EXPECT_EQ(learned(train_bpe(counts_of({{"abc", 1}, {"abd", 1}}), 1000)), (std::vector<std::string>{"ab"}));
  EXPECT_TRUE(learned(train_bpe(counts_of({{"abc", 9}}), 256)).empty());
  EXPECT_TRUE(names(input_error_of([] { train_bpe(StringCounts(), 255); }), {"255", "256"}));
}

TEST(TrainBpe, CountsIn64Bits) {
  constexpr std::uint64_t kMany = 5'000'000'000;
  EXPECT_EQ(learned(train_bpe(counts_of({{"ab", kMany}, {"cd", kMany + 1}}), 257)), (std::vector<std::string>{"cd"}));
}

/// The definition: all pairs are counted again for every merge.
std::vector<std::string> by_definition(const std::map<std::string, std::uint64_t>& words, std::size_t merges) {
  const Bpe bytes = train_bpe(StringCounts(), 256);
  std::vector<std::string> tokens = bytes.tokens();
  std::vector<std::pair<std::vector<Token>, std::int64_t>> all;
  for (const auto& [word, times] : words) {
    std::vector<Token> symbols;
    bytes.encode(word, symbols);
    all.emplace_back(symbols, times);
  }
  std::map<std::pair<Token, Token>, bool> passed_over;
  while (tokens.size() < 256 + merges) {
    // Count all pairs.
    std::map<std::pair<Token, Token>, std::int64_t> pairs;
    for (const auto& [symbols, times] : all) {
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        pairs[{symbols[i], symbols[i + 1]}] += times;
      }
    }
    // Take the most frequent one that makes a new token.
    const std::pair<const std::pair<Token, Token>, std::int64_t>* best = nullptr;
    for (const auto& pair : pairs) {
      if (pair.second >= 2 && !passed_over[pair.first] && (best == nullptr || pair.second > best->second)) {
        best = &pair;
      }
    }
    if (best == nullptr) {
      break;
    }
    const auto [left, right] = best->first;
    const std::string made = tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)];
    if (std::find(tokens.begin(), tokens.end(), made) != tokens.end()) {
      passed_over[best->first] = true;
      continue;
    }
    // Merge it everywhere.
    for (auto& [symbols, times] : all) {
      std::vector<Token> merged;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool both = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
        merged.push_back(both ? static_cast<Token>(tokens.size()) : symbols[i]);
        i += both ? 1 : 0;
      }
      symbols = merged;
    }
    tokens.push_back(made);
  }
  return {tokens.begin() + 256, tokens.end()};
}

TEST(TrainBpe, IncrementalCountsEqualCountingAnew) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::map<std::string, std::uint64_t> words;
    for (int w = 0; w < 40; ++w) {
      std::string word;
      for (auto left = 1 + random() % 12; left > 0; --left) {
        word += "aaabbc"[random() % 6];
      }
      words[word] += 1 + random() % 5;
    }
    EXPECT_EQ(learned(train_bpe(counts_of(words), 256 + 40)), by_definition(words, 40)) << round;
  }
}

TEST(TrainBpe, DoesNotDependOnTheOrderOfPieces) {
  StringCounts forward, backward, halves;
  const std::vector<std::string> words = {"there", " there", " then", " the", "these", " is", "this", " island"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    forward.add(words[i], i + 1);
    backward.add(words[words.size() - 1 - i], words.size() - i);
  }
  StringCounts other;
  for (std::size_t i = 0; i < words.size(); ++i) {
    (i % 2 == 0 ? halves : other).add(words[i], i);
    (i % 2 == 0 ? other : halves).add(words[i], 1);
  }
  halves.add(other);
  const auto expected = learned(train_bpe(std::move(forward), 280));
  EXPECT_EQ(learned(train_bpe(std::move(backward), 280)), expected);
  EXPECT_EQ(learned(train_bpe(std::move(halves), 280)), expected);
}

TEST(TrainBpe, ALongPieceTakesNoLonger) {
  StringCounts counts;
  std::string dna;
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    dna += "acgt"[random() % 4];
  }
  counts.add(dna);
  double last = 0;
  const Bpe bpe = train_bpe(std::move(counts), 2000, [&](double done) {
    EXPECT_GT(done, last);
    last = done;
  });
  EXPECT_EQ(bpe.tokens().size(), 2000U);
  EXPECT_GT(last, 0.85);
}

TEST(StringCounts, CountsEachString) {
  StringCounts counts;
  for (const char* word : {"a", "b", "a", "", "a"}) {
    counts.add(word);
  }
  for (int i = 0; i < 10000; ++i) {
    counts.add("word " + std::to_string(i), 2);
  }
  EXPECT_EQ(counts.distinct(), 10003);
  std::map<std::string, std::uint64_t, std::less<>> found;
  counts.for_each([&](std::string_view word, std::uint64_t times) { found.emplace(word, times); });
  EXPECT_EQ(found.size(), 10003U);
  EXPECT_EQ(found["a"], 3U);
  EXPECT_EQ(found[""], 1U);
  EXPECT_EQ(found["word 777"], 2U);
}

}  // namespace
}  // namespace dikkat
