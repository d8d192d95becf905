#include "train/data/corpus/corpus_statistics.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

Corpus corpus_of(const TemporaryFolder& folder, const std::vector<std::pair<std::string, std::string>>& files,
                 const CorpusOptions& options = {}) {
  std::vector<std::string> paths;
  for (const auto& [name, text] : files) {
    paths.push_back(folder.write(name, text));
  }
  return open_corpus(paths, options);
}

TEST(CorpusStatistics, DocumentsByLengthAndCopies) {
  const TemporaryFolder folder;
  const Corpus corpus = corpus_of(
      folder, {{"a.txt", "one\n"},
               {"b.jsonl", "{\"text\": \"two two\"}\n{\"text\": \"one\\n\"}\n{\"text\": \"two two\"}\n{\"text\": \"one\\n\"}\n"}});
  const CorpusStatistics found = statistics_of(corpus);
  EXPECT_EQ(found.lengths, (std::map<index, index>{{4, 3}, {7, 2}}));
  EXPECT_EQ(found.repeats, 3);
  EXPECT_EQ(found.repeated_bytes, 4 + 4 + 7);
  ASSERT_EQ(found.repeated.size(), 2U);
  EXPECT_EQ(found.repeated[0].first, (TextPlace{.file = 0, .line = 0})) << "8 bytes in copies come before 7";
  EXPECT_EQ(found.repeated[0].second, (TextPlace{.file = 1, .line = 2}));
  EXPECT_EQ(found.repeated[0].times, 3);
  EXPECT_EQ(found.repeated[1].first, (TextPlace{.file = 1, .line = 1}));
  EXPECT_EQ(found.repeated[1].bytes, 7);
}

TEST(CorpusStatistics, LongestLinesAcrossChunks) {
  const TemporaryFolder folder;
  const std::string longest = "\u00E9" + std::string(3'000'001, 'x');  // chunks end about every MiB
  const Corpus corpus = corpus_of(folder, {{"a.txt", "short\n\nlonger line\n"}, {"b.txt", "12345678\n" + longest}});
  index last = 0;
  const CorpusStatistics found = statistics_of(corpus, [&](index done) { last = done; });
  EXPECT_EQ(last, 19 + 9 + 3'000'003);
  ASSERT_EQ(found.longest_lines.size(), 4U) << "empty lines do not count";
  EXPECT_EQ(found.longest_lines[0].bytes, 3'000'003);
  EXPECT_EQ(found.longest_lines[0].place, (TextPlace{.file = 1, .line = 2}));
  EXPECT_EQ(found.longest_lines[0].begin, longest.substr(0, 80));
  EXPECT_EQ(found.longest_lines[1].begin, "longer line");
  EXPECT_EQ(found.longest_lines[1].place, (TextPlace{.file = 0, .line = 3}));
  EXPECT_EQ(found.longest_lines[2].begin, "12345678");
}

TEST(CorpusStatistics, KeepsTenOfEach) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 1; i <= 25; ++i) {
    lines += "{\"text\": \"" + std::string(static_cast<std::size_t>(i), 'a') + "\"}\n";
  }
  const CorpusStatistics found = statistics_of(corpus_of(folder, {{"a.jsonl", lines + lines}}));
  ASSERT_EQ(found.longest_lines.size(), 10U);
  EXPECT_EQ(found.longest_lines.front().bytes, 25);
  EXPECT_EQ(found.longest_lines.front().place.line, 25);
  EXPECT_EQ(found.longest_lines[1].place.line, 50);
  EXPECT_EQ(found.longest_lines.back().bytes, 21);
  EXPECT_EQ(found.repeats, 25);
  ASSERT_EQ(found.repeated.size(), 10U);
  EXPECT_EQ(found.repeated.back().bytes, 16);
}

TEST(CorpusStatistics, CountsCharactersAndBytesThatAreNotUtf8) {
  const TemporaryFolder folder;
  const CorpusStatistics found = statistics_of(corpus_of(folder, {{"a.txt", "a\u00E9a\xFF\xE2\x82"}}, {.any_bytes = true}));
  EXPECT_EQ(found.characters, (std::vector<std::pair<char32_t, index>>{{U'a', 2}, {U'\u00E9', 1}}));
  EXPECT_EQ(found.invalid, 2);
}

TEST(CorpusStatistics, LengthsOfAShareOfTheDocuments) {
  const std::map<index, index> lengths{{1, 1}, {10, 8}, {100, 1}};
  EXPECT_EQ(length_at(lengths, 0), 1);
  EXPECT_EQ(length_at(lengths, 0.1), 1);
  EXPECT_EQ(length_at(lengths, 0.11), 10);
  EXPECT_EQ(length_at(lengths, 0.9), 10);
  EXPECT_EQ(length_at(lengths, 1), 100);
  EXPECT_EQ(length_at({}, 0.5), 0);
}

}  // namespace
}  // namespace dikkat
