#include "train/data/tokens/token_cache.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/data/tokens/tokenize.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {
namespace {

using testing::names;

namespace fs = std::filesystem;

struct TokenCache : ::testing::Test {
  /// The tokens of a text, kept in the cache, last used `hours` ago.
  TokenizedCorpus keep(const std::string& text, int hours) {
    const std::string paths[] = {texts.write(concat(text.substr(0, 5), ".txt"), text)};
    const Corpus corpus = open_corpus(paths);
    TokenizedCorpus tokens = tokenize_once(cache.path(), survey(corpus, nullptr).fingerprint, corpus, *bytes, {});
    EXPECT_FALSE(tokens.file.empty());
    last_used(tokens.file, hours);
    return tokens;
  }
  static void last_used(const std::string& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const KeptTokens& tokens : kept_tokens(cache.path())) {
      all.push_back(tokens.path);
    }
    return all;
  }

  TemporaryFolder texts, cache;
  std::unique_ptr<Tokenizer> bytes = make_tokenizer("byte", {});
};

TEST_F(TokenCache, ListsTheMostRecentlyUsedFirst) {
  const std::string old_file = keep("older text", 5).file, new_file = keep("newer text", 1).file;
  cache.write("notes.tokens", "not ours");
  EXPECT_EQ(paths(), (std::vector{new_file, old_file}));
  const auto all = kept_tokens(cache.path());
  EXPECT_EQ(all[0].bytes, static_cast<index>(fs::file_size(new_file)));
  EXPECT_FALSE(all[0].in_use);
  EXPECT_TRUE(kept_tokens(cache.path("absent")).empty());
}

TEST_F(TokenCache, ReadingAFileIsUsingIt) {
  const std::string first = keep("first text", 5).file, second = keep("second text", 3).file;
  ASSERT_EQ(paths(), (std::vector{second, first}));
  const std::string texts_of_first[] = {texts.path("first.txt")};
  const Corpus corpus = open_corpus(texts_of_first);
  EXPECT_TRUE(find_tokens(cache.path(), survey(corpus, nullptr).fingerprint, *bytes, {}));
  EXPECT_EQ(paths(), (std::vector{first, second}));
}

TEST_F(TokenCache, TheLeastRecentlyUsedGoFirst) {
  const std::string a = keep(std::string(1000, 'a'), 3).file, b = keep(std::string(1000, 'b'), 1).file,
                    c = keep(std::string(1000, 'c'), 2).file;
  cache.write("notes.tokens", std::string(10000, 'x'));
  const auto size = static_cast<index>(fs::file_size(a));
  EXPECT_TRUE(remove_kept_tokens(cache.path(), 3 * size).empty());
  const auto removed = remove_kept_tokens(cache.path(), 3 * size - 1);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].path, a);
  EXPECT_FALSE(fs::exists(a));
  EXPECT_EQ(remove_kept_tokens(cache.path(), size).at(0).path, c);
  EXPECT_EQ(remove_kept_tokens(cache.path(), 0).at(0).path, b);
  EXPECT_TRUE(fs::exists(cache.path("notes.tokens"))) << "files of others stay";
}

TEST_F(TokenCache, FilesInUseStay) {
  const TokenizedCorpus used = keep("text in use", 9);
  const std::string other = keep("other text", 1).file;
  EXPECT_TRUE(kept_tokens(cache.path()).back().in_use);
  const auto removed = remove_kept_tokens(cache.path(), 0);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].path, other);
  EXPECT_TRUE(fs::exists(used.file));
  Token token = 0;
  used.parts[0].read(0, 1, &token);
  EXPECT_EQ(token, 't');
}

TEST(TokenFolderLimit, IsAWholeNumberOfGigabytes) {
  ::unsetenv("DIKKAT_CACHE_GB");
  EXPECT_EQ(token_folder_limit(), 20'000'000'000);
  ::setenv("DIKKAT_CACHE_GB", "3", 1);
  EXPECT_EQ(token_folder_limit(), 3'000'000'000);
  for (const char* text : {"-1", "x", "3x", "1000001", "99999999999999999999"}) {
    ::setenv("DIKKAT_CACHE_GB", text, 1);
    EXPECT_TRUE(names(input_error_of([] { token_folder_limit(); }), {"DIKKAT_CACHE_GB", concat('"', text, '"')}));
  }
  ::unsetenv("DIKKAT_CACHE_GB");
}

}  // namespace
}  // namespace dikkat
