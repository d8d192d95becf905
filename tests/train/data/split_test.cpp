#include "train/data/corpus/split.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

using testing::names;

index sum(std::span<const index> some) { return std::accumulate(some.begin(), some.end(), index{0}); }

TEST(Split, OfOneFileIsItsEndInBothPlaces) {
  for (const double share : {0.0, 0.1, 0.25, 0.999}) {
    for (const index size : {index{0}, index{1}, index{9}, index{1'000'003}}) {
      const std::vector<index> sizes = {size};
      EXPECT_EQ(spread_split(sizes, share, 4096), split_at(sizes, training_share(size, share)));
      EXPECT_EQ(spread_split(sizes, share, 1), FileSplit{training_share(size, share)});
    }
  }
}

TEST(Split, AtTheEndIsThatOfTheLastFiles) {
  const std::vector<index> sizes = {10, 0, 20, 30};
  EXPECT_EQ(split_at(sizes, 60), (FileSplit{10, 0, 20, 30}));
  EXPECT_EQ(split_at(sizes, 54), (FileSplit{10, 0, 20, 24}));
  EXPECT_EQ(split_at(sizes, 30), (FileSplit{10, 0, 20, 0}));
  EXPECT_EQ(split_at(sizes, 0), (FileSplit{0, 0, 0, 0}));
}

TEST(Split, LargeFilesGiveTheirEnds) {
  const std::vector<index> sizes(100, 100'000);
  for (const index training : spread_split(sizes, 0.1, 4096)) {
    EXPECT_EQ(training, 90'000);
  }
  const std::vector<index> few = {300, 20, 500};
  const FileSplit split = spread_split(few, 0.1, 4096);
  EXPECT_EQ(split, (FileSplit{270, 18, 450})) << "a whole file would be too much";
}

TEST(Split, OfManySmallFilesSomeGoWholeAndFromAllPlaces) {
  const std::vector<index> sizes(1000, 1000);
  const FileSplit split = spread_split(sizes, 0.1, 4096);
  index longest = 0, since = 0;
  for (const index training : split) {
    EXPECT_TRUE(training == 0 || training == 1000);
    since = training == 0 ? 0 : since + 1;
    longest = std::max(longest, since);
  }
  EXPECT_EQ(sum(split), 900'000);
  EXPECT_LE(longest, 9);
  std::vector<index> mixed;  // a few large files among many small ones
  for (int i = 0; i < 300; ++i) {
    mixed.push_back(i % 50 == 7 ? 1'000'000 : 100 + 37 * (i % 13));
  }
  EXPECT_NEAR(static_cast<double>(sum(spread_split(mixed, 0.1, 4096))), 0.9 * static_cast<double>(sum(mixed)), 1000);
}

// Copies of a file give the same end to validation, so training never sees that end in another copy.
TEST(Split, OfCopiesIsTheSameInEach) {
  for (const std::size_t copies : {2U, 3U, 7U, 30U}) {
    for (const double share : {0.05, 0.1, 0.25}) {
      const std::vector<index> sizes(copies, 60'000);
      for (const index training : spread_split(sizes, share, 1)) {
        EXPECT_EQ(training, training_share(60'000, share)) << copies;
      }
    }
  }
}

// 0.3 of 500 is a little less than 150 as a double, but is rounded to it. With two roundings, the fifth file would go to validation.
TEST(Split, IsTheSameOnProcessorsThatRoundTwice) {
  const std::vector<index> sizes(20, 100);
  FileSplit first = spread_split(sizes, 0.3, 4096);
  first.resize(6);
  EXPECT_EQ(first, (FileSplit{100, 0, 100, 100, 100, 0}));
}

TEST(Split, LeavesTheOthersInTheirOrder) {
  std::vector<int> items = {1, 2, 3, 4, 5, 6};
  const std::vector<index> sizes = {3, 1, 2};
  put_validation_last(items, sizes, {2, 0, 1});
  EXPECT_EQ(items, (std::vector<int>{1, 2, 5, 3, 4, 6}));
}

TEST(Split, NamesTheFilesForValidation) {
  const std::vector<std::string> files = {"a.txt", "b.txt", "c.txt"};
  const std::vector<index> sizes = {3, 1, 2};
  EXPECT_TRUE(names(note_on_split(files, sizes, {3, 0, 1}), {"b.txt", "c.txt"}));
  EXPECT_EQ(note_on_split(files, sizes, {3, 0, 1}).find("a.txt"), std::string::npos);
  EXPECT_EQ(note_on_split(files, sizes, {3, 1, 2}), "");
  EXPECT_EQ(note_on_split(std::span(files).first(1), std::span(sizes).first(1), {1}), "");
}

}  // namespace
}  // namespace dikkat
