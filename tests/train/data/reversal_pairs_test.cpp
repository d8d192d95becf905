#include <cstdlib>
#include <set>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/examples/pairs.h"

namespace dikkat {
namespace {

using testing::names;

/// Runs scripts/reversal-pairs.sh and returns its exit code. Its output goes to `out`, and messages to `out`.err.
int reversal_pairs(const std::string& arguments, const std::string& out) {
  const int status = std::system(concat(DIKKAT_SOURCE_DIR "/scripts/reversal-pairs.sh ", arguments, " >", out, " 2>", out, ".err").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ReversalPairs, AreDistinctSequencesAndTheirReverse) {
  const TemporaryFolder folder;
  const std::string path = folder.path("pairs.tsv");
  ASSERT_EQ(reversal_pairs("2000 7", path), 0);
  const PairCorpus corpus = read_pairs(std::span(&path, 1));
  EXPECT_EQ(corpus.pairs.size(), 2000U);
  std::set<std::string_view> sources;
  std::set<std::size_t> lengths;
  std::set<char> letters;
  for (const Pair& pair : corpus.pairs) {
    ASSERT_EQ(pair.target, std::string(pair.source.rbegin(), pair.source.rend())) << pair.line;
    for (std::size_t i = 0; i < pair.source.size(); ++i) {
      const char c = pair.source[i];
      ASSERT_TRUE(i % 2 == 0 ? 'a' <= c && c <= 'z' : c == ' ') << pair.source;
    }
    sources.insert(pair.source);
    lengths.insert((pair.source.size() + 1) / 2);
    letters.insert(pair.source.begin(), pair.source.end());
  }
  EXPECT_EQ(sources.size(), 2000U);
  EXPECT_EQ(lengths.size(), 16U);
  EXPECT_EQ(*lengths.begin(), 5U);
  EXPECT_EQ(*lengths.rbegin(), 20U);
  EXPECT_EQ(letters.size(), 27U) << "and the blank";
}

TEST(ReversalPairs, FollowFromTheSeed) {
  const TemporaryFolder folder;
  const auto written = [&](const std::string& arguments) {
    const std::string path = folder.path("pairs.tsv");
    EXPECT_EQ(reversal_pairs(arguments, path), 0) << arguments;
    return read_text_file({.name = path, .path = path});
  };
  // The expected values are computed with exact integers (Python), and every awk must agree.
  EXPECT_EQ(written("2 1"), "r n l t x r f v x a m\tm a x v f r x t l n r\nh h v i j x g r g i r q b p\tp b q r i g r g x j i v h h\n");
  EXPECT_EQ(written("300 5"), written("300 5"));
  EXPECT_NE(written("300 5"), written("300 6"));
  EXPECT_TRUE(written("300 5").starts_with(written("100 5"))) << "more pairs are the same ones and others";
}

TEST(ReversalPairs, StayDistinctUpToHalfOfAllSequences) {
  const TemporaryFolder folder;
  const std::string path = folder.path("pairs.tsv");
  ASSERT_EQ(reversal_pairs("13 1 1 1", path), 0);
  const PairCorpus corpus = read_pairs(std::span(&path, 1));
  std::set<std::string_view> sources;
  for (const Pair& pair : corpus.pairs) {
    sources.insert(pair.source);
  }
  EXPECT_EQ(corpus.pairs.size(), 13U);
  EXPECT_EQ(sources.size(), 13U);
}

TEST(ReversalPairs, RefuseArgumentsOutOfRangeAndNameTheRange) {
  const TemporaryFolder folder;
  const std::string path = folder.path("pairs.tsv");
  for (const char* bad : {"", "5", "5 1 3", "5 1 3 4 5", "0 1", "x 1", "5 -1", "5 1.5", "08 1", "5 1 0 3", "5 1 4 3", "14 1 1 1"}) {
    EXPECT_EQ(reversal_pairs(bad, path), 2) << bad;
    EXPECT_TRUE(names(read_text_file({.name = path, .path = path + ".err"}), {"scripts/reversal-pairs.sh COUNT SEED [LEAST MOST]"})) << bad;
    EXPECT_EQ(read_text_file({.name = path, .path = path}), "") << bad;
  }
}

}  // namespace
}  // namespace dikkat
