#include "train/data/examples/pairs.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/fingerprint.h"

namespace dikkat {
namespace {

using testing::names;

using namespace std::string_literals;

PairCorpus pairs_in(std::initializer_list<std::string> paths) { return read_pairs(std::span(paths.begin(), paths.size())); }

TEST(Pairs, ReadsALineAPairInOrder) {
  const TemporaryFolder folder;
  const std::string b = folder.write("b.txt", "you win\tor die\r\n\u00E9 \t a\n");  // named by the person, so any extension will do
  const std::string a = folder.write("a.tsv", "\xEF\xBB\xBFx\ty\nlast\tline");      // after a byte order mark
  const PairCorpus corpus = pairs_in({b, a});
  ASSERT_EQ(corpus.pairs.size(), 4U);
  const Pair expected[] = {
      {.name = b, .line = 1, .offset = 0, .source = "you win", .target = "or die"},
      {.name = b, .line = 2, .offset = 16, .source = "\u00E9 ", .target = " a"},
      {.name = a, .line = 1, .offset = 3, .source = "x", .target = "y"},
      {.name = a, .line = 2, .offset = 7, .source = "last", .target = "line"},
  };
  for (std::size_t i = 0; i < 4; ++i) {
    const Pair& pair = corpus.pairs[i];
    EXPECT_EQ(pair.name, expected[i].name) << i;
    EXPECT_EQ(pair.line, expected[i].line) << i;
    EXPECT_EQ(pair.offset, expected[i].offset) << i;
    EXPECT_EQ(pair.source, expected[i].source) << i;
    EXPECT_EQ(pair.target, expected[i].target) << i;
  }
  EXPECT_EQ(concat(corpus.pairs[1], "!"), concat(b, ": line 2!"));
}

TEST(Pairs, AFolderStandsForItsTsvFiles) {
  const TemporaryFolder folder;
  folder.write("b.TSV", "b\tb\n");
  folder.write("a/a.tsv", "a\ta\n");
  folder.write("empty.tsv", "");
  folder.write("notes.txt", "no pairs");
  const PairCorpus corpus = pairs_in({folder.path()});
  ASSERT_EQ(corpus.pairs.size(), 2U);
  EXPECT_EQ(corpus.documents.size(), 2U) << "empty files are left out";
  EXPECT_EQ(corpus.pairs[0].source, "a");
  EXPECT_EQ(corpus.pairs[1].name, folder.path("b.TSV"));
}

TEST(Pairs, TheViewsStayValidWhenTheCorpusMoves) {
  const TemporaryFolder folder;
  PairCorpus first = pairs_in({folder.write("a.tsv", "a\tb")});  // so short that the string has no memory of its own
  const PairCorpus moved = std::move(first);
  const char* text = moved.documents[0].text.data();
  EXPECT_EQ(moved.pairs[0].source.data(), text);
  EXPECT_EQ(moved.pairs[0].target.data(), text + 2);
  EXPECT_EQ(moved.pairs[0].name.data(), moved.documents[0].name.data());
  static_assert(!std::is_copy_constructible_v<PairCorpus> && !std::is_copy_assignable_v<PairCorpus>);
}

TEST(Pairs, RefusesALineThatIsNotAPairAndNamesIt) {
  const TemporaryFolder folder;
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"a\tb\nab\nc\td\n", {"line 2", "no TAB", "SOURCE<TAB>TARGET"}},
      {"   \n", {"line 1", "no TAB", "SOURCE<TAB>TARGET"}},
      {"a\tb\nc\td\na\tb\tc\n", {"line 3", "2 TABs", "SOURCE<TAB>TARGET"}},
      {"a\t\tb", {"line 1", "2 TABs"}},
      {"a\tb\n\nc\td\n", {"line 2", "line is empty", "SOURCE<TAB>TARGET"}},
      {"a\tb\n\n", {"line 2", "line is empty"}},
      {"a\tb\r\n\r\n", {"line 2", "line is empty"}},
      {"\n", {"line 1", "line is empty"}},
      {"\tb\n", {"line 1", "source", "empty", "SOURCE<TAB>TARGET"}},
      {" \u3000\tb\n", {"line 1", "source", "blank", "SOURCE<TAB>TARGET"}},
      {"a\t\n", {"line 1", "target", "empty", "SOURCE<TAB>TARGET"}},
      {"a\t\r\n", {"line 1", "target", "empty"}},
      {"a\t \u00A0\n", {"line 1", "target", "blank"}},
      {"a\tb\n\u00E9\tc\xE9 d\n", {"line 2", "byte 8", "UTF-8", "0xE9 0x20", "iconv"}},
  };
  for (const Case& c : cases) {
    const std::string path = folder.write("bad.tsv", c.text);
    const std::string error = input_error_of([&] { pairs_in({path}); });
    EXPECT_TRUE(names(error, {path}));
    EXPECT_TRUE(names(error, c.parts));
  }
}

TEST(Pairs, OfSeveralBadLinesTheFirstIsNamed) {
  const TemporaryFolder folder;
  for (int i = 10; i < 60; ++i) {
    folder.write(concat(i, ".tsv"), i < 17 ? "a\tb\n" : "a\tb\nbad\nbad\n");
  }
  for (int run = 0; run < 20; ++run) {
    const std::string error = input_error_of([&] { pairs_in({folder.path()}); });
    ASSERT_TRUE(names(error, {"/17.tsv", "line 2", "TAB"}));
  }
}

TEST(Pairs, RefusesFilesWithoutPairs) {
  const TemporaryFolder folder;
  const std::string empty = folder.write("none/empty.tsv", "");
  EXPECT_TRUE(names(input_error_of([&] { pairs_in({empty}); }), {empty, "is empty"}));
  folder.write("texts/a.txt", "a\tb\n");
  EXPECT_TRUE(names(input_error_of([&] { pairs_in({folder.path("texts")}); }), {folder.path("texts"), "no text", ".tsv"}));
  EXPECT_THROW(pairs_in({}), InputError);
  EXPECT_TRUE(names(input_error_of([&] { pairs_in({folder.write("nul.tsv", "a\tb\0"s)}); }), {"NUL", "byte 3"}));
}

TEST(Pairs, HaveTheFingerprintOfTheirFiles) {
  const TemporaryFolder folder;
  const PairCorpus corpus = pairs_in({folder.write("a.tsv", "a\tb\n")});
  // printf 'a\tb\n' | sha256sum | cut -c-64 | xxd -r -p | sha256sum
  EXPECT_EQ(fingerprint(corpus), "374f539f1f82b57311090ce2edca98142eb05082d6172c2572ab0ac015dda2fd");
}

TEST(Pairs, TheFirstOnesAreForTraining) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += concat(i, "\tx\n");
  }
  PairCorpus corpus = pairs_in({folder.write("a.tsv", text)});
  std::vector<std::string> notes;
  const auto with = [](double share) {
    DataConfig config;
    config.val_fraction = share;
    return config;
  };
  struct Case {
    double val_fraction;
    std::size_t train;
  };
  for (const Case& c : {Case{0, 10}, {0.1, 9}, {0.25, 7}, {0.5, 5}, {0.99, 0}}) {
    const PairSplit parts = split_pairs(corpus, with(c.val_fraction), notes);
    ASSERT_EQ(parts.train.size(), c.train) << c.val_fraction;
    ASSERT_EQ(parts.validation.size(), 10 - c.train) << c.val_fraction;
    EXPECT_EQ(parts.train.data(), corpus.pairs.data());
    EXPECT_EQ(parts.validation.data(), corpus.pairs.data() + c.train);
  }
  for (const double bad : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(split_pairs(corpus, with(bad), notes), InputError) << bad;
  }
}

TEST(Pairs, TheDemoCorpusHasEachSourceOnce) {
  const PairCorpus corpus = pairs_in({DIKKAT_SOURCE_DIR "/data/pairs.tsv"});
  std::set<std::string_view> sources;
  for (const Pair& pair : corpus.pairs) {
    sources.insert(pair.source);
  }
  EXPECT_EQ(corpus.pairs.size(), 44U);
  EXPECT_EQ(sources.size(), corpus.pairs.size());
  EXPECT_EQ(corpus.pairs[0].source, "When you play game of thrones");
  EXPECT_EQ(corpus.pairs[0].target, "you win or you die");
}

}  // namespace
}  // namespace dikkat
