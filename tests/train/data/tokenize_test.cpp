#include "train/data/tokens/tokenize.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/corpus/split.h"
#include "train/data/tokens/token_cache.h"
#include "train/data/tokens/token_file.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

using testing::names;

std::vector<Token> tokens_in(const TokenStore& store) {
  std::vector<Token> tokens(static_cast<std::size_t>(store.size()));
  store.read(0, store.size(), tokens.data());
  return tokens;
}

/// Files with these texts, and their corpus.
class Texts {
 public:
  explicit Texts(const std::vector<std::string>& texts) {
    std::vector<std::string> paths;
    for (const std::string& text : texts) {
      paths.push_back(folder_.write(concat(1000 + paths.size(), ".txt"), text));
    }
    corpus = open_corpus(paths);
  }
  std::string name(std::size_t i) const { return corpus.files[i].name; }

 private:
  TemporaryFolder folder_;

 public:
  Corpus corpus;
};

/// The split at a byte of all texts.
FileSplit at_byte(const Corpus& corpus, index byte) { return split_at(survey(corpus, nullptr).bytes_of_files, byte); }

std::unique_ptr<Tokenizer> tokenizer_of(const TokenizerOptions& options, const Corpus& corpus) {
  const auto maker = make_tokenizer_maker(options);
  survey(corpus, maker.get());
  return maker->make();
}

/// A byte tokenizer with a token between documents.
class Separating : public Tokenizer {
 public:
  std::string_view kind() const override { return "separating"; }
  index vocab_size() const override { return 257; }
  std::vector<Token> encode(std::string_view text) const override { return {text.begin(), text.end()}; }
  index stable_prefix(std::string_view text) const override { return static_cast<index>(text.size()); }
  std::string decode(std::span<const Token> tokens) const override { return {tokens.begin(), tokens.end()}; }
  std::string to_json() const override { return "{}"; }
  std::optional<Token> separator() const override { return 256; }
};

TEST(TokenStore, HoldsEveryIdOfItsVocabulary) {
  for (const index vocab_size : {index{1}, index{256}, index{65536}, index{65537}, index{1} << 31}) {
    TokenStore store(vocab_size);
    const std::vector<Token> tokens = {0, static_cast<Token>(vocab_size - 1), static_cast<Token>(vocab_size / 2), 0};
    store.append(tokens);
    store.append(tokens);
    EXPECT_EQ(store.size(), 8);
    std::vector<Token> some(3, -1);
    store.read(3, 3, some.data());
    EXPECT_EQ(some, (std::vector<Token>{0, 0, tokens[1]})) << vocab_size;
  }
}

TEST(TokenStore, RefusesIdsOutside) {
  TokenStore store(65536);
  const Token negative[] = {-1};
  const Token large[] = {65536};
  EXPECT_THROW(store.append(negative), Error);
  EXPECT_THROW(store.append(large), Error);
  EXPECT_EQ(store.size(), 0);
  const Token tokens[] = {1, 2, 3};
  store.append(tokens);
  Token out[4];
  EXPECT_THROW(store.read(-1, 1, out), Error);
  EXPECT_THROW(store.read(0, 4, out), Error);
  EXPECT_THROW(store.read(4, 0, out), Error);
  EXPECT_THROW(store.read(1, -1, out), Error);
  EXPECT_NO_THROW(store.read(3, 0, out));
  EXPECT_THROW(TokenStore(0), Error);
  EXPECT_THROW(TokenStore((index{1} << 31) + 1), Error);
}

TEST(Tokenize, JoinsTheDocumentsInOrder) {
  const auto bytes = make_tokenizer("byte", {});
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    texts.push_back(concat("document ", i, ";"));
    expected += texts.back();
  }
  const Texts files(texts);
  const TokenizedCorpus tokens = tokenize(files.corpus, *bytes);
  EXPECT_EQ(bytes->decode(tokens_in(tokens.parts[0])), expected);
  EXPECT_EQ(tokens.bytes[0], static_cast<index>(expected.size()));
  EXPECT_EQ(tokens.parts[0].documents(), 500);
  EXPECT_EQ(tokens.parts[1].size(), 0);
}

TEST(Tokenize, PutsTheSeparatorBetweenDocumentsOfAPartOnly) {
  const Texts files({"ab", "c", "de"});
  EXPECT_EQ(tokens_in(tokenize(files.corpus, Separating()).parts[0]), (std::vector<Token>{'a', 'b', 256, 'c', 256, 'd', 'e'}));
  const TokenizedCorpus cut = tokenize(files.corpus, Separating(), at_byte(files.corpus, 4));
  EXPECT_EQ(tokens_in(cut.parts[0]), (std::vector<Token>{'a', 'b', 256, 'c', 256, 'd'}));
  EXPECT_EQ(tokens_in(cut.parts[1]), (std::vector<Token>{'e'}));
  EXPECT_EQ(cut.parts[0].documents(), 3);
  EXPECT_EQ(cut.parts[0].document_start(1), 3);
  EXPECT_EQ(cut.parts[0].document_start(2), 5);
  EXPECT_EQ(cut.parts[0].document_start(3), 6);
  EXPECT_EQ(cut.parts[1].documents(), 1);
  EXPECT_EQ(tokens_in(tokenize(files.corpus, Separating(), at_byte(files.corpus, 3)).parts[1]), (std::vector<Token>{'d', 'e'}))
      << "a split between documents";
}

TEST(Tokenize, NamesTheFileAndTheByteInIt) {
  const Texts bad({"abcabcabc", "abcabc\xE9"});
  EXPECT_TRUE(names(input_error_of([&] { tokenizer_of({.kind = "char"}, bad.corpus); }), {bad.name(1), "byte 6", "UTF-8", "0xE9"}));
  const auto tokenizer = make_tokenizer("char", std::vector<std::string_view>{"abc"});
  const Texts strange({"abcabc", "aaaax"});  // a split at byte 7: the offset still counts from the file's start
  EXPECT_TRUE(names(input_error_of([&] { tokenize(strange.corpus, *tokenizer, {6, 1}); }),
                    {strange.name(1), "byte 4", "U+0078", "'x'", "3 characters"}));
}

TEST(Tokenize, OfSeveralProblemsTheFirstIsNamed) {
  std::vector<std::string> texts(200, "good");
  for (std::size_t i = 37; i < texts.size(); ++i) {
    texts[i] = "b\xFF";
  }
  const Texts files(texts);
  for (int run = 0; run < 20; ++run) {
    ASSERT_TRUE(names(input_error_of([&] { tokenizer_of({.kind = "char"}, files.corpus); }), {files.name(37), "byte 1"}));
  }
}

/// Some MB of words of two scripts, in lines, with runs of white space.
std::string long_text() {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < (testing::kSanitized ? 2'100'000 : 3'000'000)) {
    for (auto left = 1 + random() % 7; left > 0; --left) {
      text += random() % 9 == 0 ? "\u3042" : std::string(1, "etaoinshrdlu'"[random() % 13]);
    }
    text += random() % 11 == 0 ? " \n\n  " : random() % 50 == 0 ? "\u3000" : " ";
  }
  return text;
}

TEST(Tokenize, ATextThatIsReadInPiecesHasTheTokensOfTheWhole) {
  const std::string text = long_text();
  const Texts files({text});
  for (const TokenizerOptions& options : {TokenizerOptions{.kind = "byte"}, TokenizerOptions{.kind = "char"},
                                          TokenizerOptions{.kind = "word"}, TokenizerOptions{.kind = "bpe", .vocab_size = 400}}) {
    const auto tokenizer = tokenizer_of(options, files.corpus);
    const std::string_view documents[] = {text};
    EXPECT_EQ(tokenizer->to_json(), make_tokenizer(options, documents)->to_json()) << options.kind;
    EXPECT_TRUE(tokens_in(tokenize(files.corpus, *tokenizer).parts[0]) == tokenizer->encode(text)) << options.kind;
    const index split = 2'000'001;
    const TokenizedCorpus parts = tokenize(files.corpus, *tokenizer, at_byte(files.corpus, split));
    const auto cut = static_cast<std::size_t>(parts.bytes[0]);
    EXPECT_LE(cut, split) << options.kind;
    EXPECT_GT(cut, split - (options.kind == "word" ? 7 * 3 + 8 : 4)) << options.kind << ": at most a word before the place";
    EXPECT_TRUE(tokens_in(parts.parts[0]) == tokenizer->encode(text.substr(0, cut))) << options.kind;
    EXPECT_TRUE(tokens_in(parts.parts[1]) == tokenizer->encode(text.substr(cut))) << options.kind;
  }
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(TokenFile, IsMadeOnceAndFoundAgain) {
  const TemporaryFolder cache;
  const std::string folder = cache.path("deep/cache");
  const Texts files({"one document", "another", long_text()});
  const std::string fingerprint = survey(files.corpus, nullptr).fingerprint;
  const FileSplit split = {12, 3, 2'000'000};
  for (const TokenizerOptions& options : {TokenizerOptions{.kind = "char"}, TokenizerOptions{.kind = "bpe", .vocab_size = 300}}) {
    const auto tokenizer = tokenizer_of(options, files.corpus);
    const TokenizedCorpus expected = tokenize(files.corpus, *tokenizer, split);
    index told = 0;
    for (const bool is_new : {true, false}) {
      told = 0;
      const TokenizedCorpus found = tokenize_once(folder, fingerprint, files.corpus, *tokenizer, split, [&](index bytes) { told = bytes; });
      EXPECT_EQ(told > 0, is_new);
      EXPECT_EQ(found.bytes, expected.bytes);
      for (std::size_t part = 0; part < kParts; ++part) {
        EXPECT_TRUE(tokens_in(found.parts[part]) == tokens_in(expected.parts[part]));
        ASSERT_EQ(found.parts[part].documents(), expected.parts[part].documents());
        for (index i = 0; i <= expected.parts[part].documents(); ++i) {
          EXPECT_EQ(found.parts[part].document_start(i), expected.parts[part].document_start(i));
        }
      }
    }
    tokenize_once(folder, fingerprint, files.corpus, *tokenizer, {12, 3, 2'000'001}, [&](index bytes) { told = bytes; });
    EXPECT_GT(told, 0) << "another split is another file";
  }
  EXPECT_EQ(files_in(folder), 4U) << "nothing half written";
}

TEST(TokenFile, ATextThatChangesWhileItIsReadIsRefused) {
  const TemporaryFolder folder;
  const std::string path[] = {folder.write("a.txt", "one text of a length")};
  const Corpus corpus = open_corpus(path);
  const std::string fingerprint = survey(corpus, nullptr).fingerprint;
  folder.write("a.txt", "two text of a length");
  const auto tokenizer = make_tokenizer("byte", {});
  const std::string cache = folder.path("cache");
  for (const auto& make : {std::function<void()>([&] { tokenize_once(cache, fingerprint, corpus, *tokenizer, {5}); }),
                           std::function<void()>([&] { tokenize(corpus, *tokenizer, {5}, {}, fingerprint); })}) {
    EXPECT_TRUE(names(input_error_of(make), {"changed", path[0]}));
  }
  EXPECT_EQ(files_in(cache), 0U);
  folder.write("a.txt", "one text of a length");
  EXPECT_EQ(tokenize(corpus, *tokenizer, {5}, {}, fingerprint).bytes[0], 5) << "a split changes no fingerprint";
}

TEST(TokenFile, HoldsLargeVocabulariesAndNothingAtAll) {
  const TemporaryFolder folder;
  const std::string key(64, 'k');
  {
    TokenFileWriter file(folder.path("a"), key, 100000);
    file.begin_document(Part::train);
    file.append(Part::train, std::vector<Token>{99999, 0, 70000});
    file.finish({5, 0});
  }
  const auto found = open_token_file(folder.path("a"), key, 100000);
  ASSERT_TRUE(found);
  EXPECT_EQ(tokens_in(found->parts[0]), (std::vector<Token>{99999, 0, 70000}));
  EXPECT_EQ(found->parts[1].size(), 0);
  EXPECT_EQ(found->parts[1].documents(), 0);
  EXPECT_FALSE(open_token_file(folder.path("a"), std::string(64, 'x'), 100000)) << "of another key";
  EXPECT_FALSE(open_token_file(folder.path("a"), key, 100001));
  EXPECT_FALSE(open_token_file(folder.path("absent"), key, 100000));
}

TEST(TokenFile, IsNotKeptWithoutAFolder) {
  const TemporaryFolder folder;
  const auto folder_for = [](const char* home, const char* cache) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::unsetenv("HOME");
      ::unsetenv("XDG_CACHE_HOME");
      if (home != nullptr) {
        ::setenv("HOME", home, 1);
      }
      if (cache != nullptr) {
        ::setenv("XDG_CACHE_HOME", cache, 1);
      }
      ::_exit(default_token_folder() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
  };
  EXPECT_FALSE(folder_for(nullptr, nullptr));
  EXPECT_FALSE(folder_for("/proc/nowhere", nullptr));
  EXPECT_FALSE(folder_for(nullptr, "relative"));
  EXPECT_TRUE(folder_for(folder.path("home").c_str(), nullptr));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("home/.cache/dikkat")));
  EXPECT_TRUE(folder_for("/proc/nowhere", folder.path("cache").c_str()));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("cache/dikkat")));
}

TEST(TokenFile, IsOnlyLookedForIfNothingMayBeWritten) {
  const TemporaryFolder cache;
  const Texts files({long_text()});
  const auto tokenizer = make_tokenizer("byte", {});
  const std::string fingerprint = survey(files.corpus, nullptr).fingerprint;
  EXPECT_FALSE(find_tokens(cache.path(), fingerprint, *tokenizer, {}));
  EXPECT_FALSE(find_tokens(cache.path("absent"), fingerprint, *tokenizer, {}));
  EXPECT_EQ(files_in(cache.path()), 0U);
  const auto made = tokenize_once(cache.path(), fingerprint, files.corpus, *tokenizer, {});
  const auto found = find_tokens(cache.path(), fingerprint, *tokenizer, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(tokens_in(found->parts[0]) == tokens_in(made.parts[0]));
}

TEST(TokenFile, IsAsPrivateAsItsWriterWants) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(077);
  {
    TokenFileWriter(folder.path("a"), std::string(64, 'k'), 300).finish({0, 0});
  }
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat(folder.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(TokenFile, CountsThatNoFileHasAreNotBelieved) {
  constexpr std::size_t kBytes = 32, kTokens = 48, kDocuments = 64, kChecksum = 176;  // in its header
  TemporaryFolder folder;
  const std::string key(64, 'k');
  {
    TokenFileWriter writer(folder.path("a"), key, 100);
    writer.begin_document(Part::train);
    writer.append(Part::train, std::vector<Token>{1, 2, 3});
    writer.finish({10, 0});
  }
  std::ifstream in(folder.path("a"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const auto put = [](std::string& text, std::size_t at, std::int64_t number) { std::memcpy(text.data() + at, &number, sizeof number); };
  const auto opens = [&](std::string text) {
    const Digest checksum = sha256(std::string_view(text).substr(0, kChecksum));
    std::memcpy(text.data() + kChecksum, checksum.data(), checksum.size());
    return open_token_file(folder.write("b", text), key, 100).has_value();
  };
  ASSERT_TRUE(opens(good));
  // Each of these leads to a layout that ends at the end of the file, since offsets are counted modulo 2^64.
  constexpr std::int64_t kQuarter = std::int64_t{1} << 62;
  for (const auto& [at, number] :
       {std::pair{kTokens, kQuarter * -2 + 3}, {kDocuments, std::int64_t{1} << 61 | 1}, {kBytes, std::int64_t{-1}}}) {
    std::string text = good;
    put(text, at, number);
    EXPECT_FALSE(opens(text)) << at;
  }
  std::string text = good;
  put(text, kTokens, kQuarter + 3);
  put(text, kTokens + 8, kQuarter);
  EXPECT_FALSE(opens(text));
}

TEST(TokenFile, DamageIsSeenAndTheFileMadeAnew) {
  const TemporaryFolder cache;
  const Texts files({long_text()});
  const auto tokenizer = make_tokenizer("byte", {});
  const std::string fingerprint = survey(files.corpus, nullptr).fingerprint;
  const auto find = [&](index& told) {
    told = 0;
    return tokenize_once(cache.path(), fingerprint, files.corpus, *tokenizer, {}, [&](index bytes) { told = bytes; });
  };
  index told = 0;
  const std::vector<Token> expected = tokens_in(find(told).parts[0]);
  const std::string path = std::filesystem::directory_iterator(cache.path())->path().string();
  const auto size = std::filesystem::file_size(path);
  // A file that is cut off is made again.
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{100}, std::uintmax_t{300}, size - 1, size + 1}) {
    std::filesystem::resize_file(path, cut);
    EXPECT_TRUE(tokens_in(find(told).parts[0]) == expected);
    EXPECT_GT(told, 0) << cut;
  }
  // So is a file with a flipped bit.
  std::vector<std::streamoff> places = {256, static_cast<std::streamoff>(size - 1)};
  for (std::streamoff at = 0; at < 208; at += testing::kSanitized ? 52 : 13) {
    places.push_back(at);
  }
  for (std::streamoff at = 257; at < static_cast<std::streamoff>(size);
       at += static_cast<std::streamoff>(size / (testing::kSanitized ? 3 : 16))) {
    places.push_back(at);
  }
  for (const std::streamoff at : places) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_TRUE(tokens_in(find(told).parts[0]) == expected) << "byte " << at;
    EXPECT_GT(told, 0) << "byte " << at;
  }
}

TEST(TokenFile, AProgramThatIsKilledLeavesNoFileThatCounts) {
  const TemporaryFolder cache;
  const std::string key(64, 'k'), path = cache.path("a");
  const pid_t child = ::fork();
  if (child == 0) {
    TokenFileWriter file(path, key, 300);
    file.append(Part::train, std::vector<Token>(5'000'000, 7));
    ::_exit(0);  // without finish() or a destructor
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(files_in(cache.path()), 1U);
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    const TokenFileWriter refused(path, key, 300);
  }
  EXPECT_EQ(files_in(cache.path()), 0U) << "files of dead processes are removed";

  const std::string of_another = cache.path(std::string(32, 'a') + ".tokens.XyZ123.unfinished");
  cache.write(std::filesystem::path(of_another).filename().string(), "tokens");
  cache.write("letter.unfinished", "somebody's own");
  {
    const TokenFileWriter refused(path, key, 300);
  }
  EXPECT_TRUE(std::filesystem::exists(of_another)) << "another machine, whose lock is not visible, may be writing it";
  std::filesystem::last_write_time(of_another, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  {
    const TokenFileWriter refused(path, key, 300);
  }
  EXPECT_FALSE(std::filesystem::exists(of_another)) << "of another text too";
  EXPECT_TRUE(std::filesystem::exists(cache.path("letter.unfinished")));
}

TEST(TokenFile, AnotherWriterOfTheSameFileIsNotDisturbed) {
  const TemporaryFolder cache;
  const std::string key(64, 'k'), path = cache.path("a");
  const auto put = [](TokenFileWriter& writer, Token token) {
    writer.begin_document(Part::train);
    writer.append(Part::train, std::vector<Token>(1000, token));
  };
  TokenFileWriter first(path, key, 300);
  put(first, 1);
  TokenFileWriter second(path, key, 300);
  put(second, 1);
  EXPECT_EQ(files_in(cache.path()), 2U);
  first.finish({1000, 0});
  EXPECT_TRUE(open_token_file(path, key, 300));
  second.finish({1000, 0});
  EXPECT_TRUE(open_token_file(path, key, 300));
  EXPECT_EQ(files_in(cache.path()), 1U);
}

TEST(TokenFile, ReportsFoldersThatItCannotWrite) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "no folder");
  const Texts files({"text"});
  const auto tokenizer = make_tokenizer("byte", {});
  try {
    tokenize_once(file + "/cache", "f", files.corpus, *tokenizer, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(names(error.what(), {file + "/cache", "folder", "data.cache"}));
  }
}

Corpus corpus_of(const std::filesystem::path& file) {
  const std::string paths[] = {file.string()};
  return open_corpus(paths);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TinyShakespeare, HasTheCountsOfNanoGpt) {
  DIKKAT_NEEDS_SHARED_DATA("tinyshakespeare.txt");
  const Corpus corpus = corpus_of(shared_data("tinyshakespeare.txt"));
  const auto tokenizer = tokenizer_of({.kind = "char"}, corpus);
  const TokenizedCorpus tokens = tokenize(corpus, *tokenizer, {training_share(survey(corpus, nullptr).bytes, 0.1)});
  EXPECT_EQ(tokenizer->vocab_size(), 65);
  EXPECT_EQ(tokens.parts[0].size(), 1003854);
  EXPECT_EQ(tokens.parts[1].size(), 111540);
  EXPECT_EQ(tokenizer->decode(tokens_in(tokens.parts[0])) + tokenizer->decode(tokens_in(tokens.parts[1])),
            contents(shared_data("tinyshakespeare.txt")));
}

TEST(Split, IsBetweenCharactersOfEveryLength) {
  for (const char* name : {"japanese", "turkish", "emoji", "devanagari"}) {
    const auto path = std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/golden/tokenizer/texts" / concat(name, ".txt");
    const Corpus corpus = corpus_of(path);
    const std::string text = contents(path);
    ASSERT_GT(text.size(), 300U) << path;
    const auto tokenizer = tokenizer_of({.kind = "char"}, corpus);
    for (index split = 0; split <= static_cast<index>(text.size()); split += 7) {
      const TokenizedCorpus tokens = tokenize(corpus, *tokenizer, {split});
      const std::string first = tokenizer->decode(tokens_in(tokens.parts[0]));
      EXPECT_TRUE(first + tokenizer->decode(tokens_in(tokens.parts[1])) == text) << name << " " << split;
      EXPECT_NEAR(static_cast<double>(first.size()), static_cast<double>(split), 3) << name;
    }
  }
}

/// Expects that, wherever a text is split, its two parts have the tokens of the whole. Returns the bytes for training of each split.
std::vector<index> expect_whole_symbols(const Tokenizer& tokenizer, const std::string& text) {
  const Texts files({text});
  const std::vector<Token> all = tokenizer.encode(text);
  std::vector<index> training;
  for (index split = 0; split < std::ssize(text); ++split) {
    const TokenizedCorpus cut = tokenize(files.corpus, tokenizer, at_byte(files.corpus, split));
    std::vector<Token> both = tokens_in(cut.parts[0]);
    const std::vector<Token> rest = tokens_in(cut.parts[1]);
    both.insert(both.end(), rest.begin(), rest.end());
    EXPECT_EQ(both, all) << split;
    EXPECT_LE(cut.bytes[0], split);
    training.push_back(cut.bytes[0]);
  }
  return training;
}

TEST(Split, IsBetweenSymbols) {
  const std::string game = "Bxh6+ e4 h6 Qd8=N O-O-O h";
  const auto moves = make_tokenizer("symbols", std::vector<std::string_view>{game, "h 6 Bx h6+ e 4"});  // a cut move may be two symbols
  const std::vector<index> of_line = expect_whole_symbols(*moves, game);
  EXPECT_LE(of_line[4], 0);
  EXPECT_EQ(of_line[10], 9) << "in h6";
  EXPECT_GE(of_line[24], 23);
  std::string games;
  for (int i = 0; i < 20; ++i) {
    games += game + "\n";
  }
  const std::vector<index> of_games = expect_whole_symbols(*moves, games);
  EXPECT_EQ(of_games[18 * 26 + 11], 18 * 26) << "the line begins near";
  EXPECT_EQ(of_games[26 + 10], 26 + 9) << "the line begins a fifth of the text before";
}

TEST(Split, IsBetweenTheLongestSymbols) {
  std::vector<std::string> triplets;
  for (int i = 0; i < 64; ++i) {
    triplets.push_back({"ACGT"[i / 16], "ACGT"[i / 4 % 4], "ACGT"[i % 4]});
  }
  const auto codons = make_longest_tokenizer(completed(triplets));
  std::string dna;
  for (int i = 0; i < 40; ++i) {
    dna += triplets[static_cast<std::size_t>(i * i % 64)];
  }
  const std::vector<index> training = expect_whole_symbols(*codons, dna);
  for (index split = 0; split < std::ssize(dna); ++split) {
    EXPECT_EQ(training[static_cast<std::size_t>(split)], split / 3 * 3);
  }
  // A symbol that is unknown is still refused at its byte.
  const Texts files({"AAACC\nAAA"});
  for (index split = 1; split < 9; ++split) {
    EXPECT_TRUE(names(testing::error_of<InputError>([&] { tokenize(files.corpus, *codons, at_byte(files.corpus, split)); }), {"byte 3"}));
  }
}

TEST(Split, OfALongTextIsBetweenSymbolsInEveryBlock) {
  const auto codons = make_longest_tokenizer(completed({"AB", "ABC", "CA", "BCAB", "A", "B", "C"}));
  std::string text;
  for (std::size_t i = 0; text.size() < 3'000'000; ++i) {
    text += std::string_view("ABCABCA").substr(i * i % 5, 1 + i % 7);
    text += i % 3000 == 0 ? "\n" : "";
  }
  const Texts files({text});
  const std::vector<Token> all = codons->encode(text);
  for (const index split : {index{5}, index{1'048'575}, index{1'500'001}, index{2'099'999}, index{2'999'999}}) {
    const TokenizedCorpus cut = tokenize(files.corpus, *codons, at_byte(files.corpus, split));
    EXPECT_EQ(cut.parts[0].size() + cut.parts[1].size(), std::ssize(all));
    EXPECT_GE(cut.bytes[0], split - split / 16 - 4);
  }
}

TEST(TextThatIsNotUtf8, IsForTheByteTokenizerOnly) {
  const std::string text = "\xC5\xE2\xE3\xE5\xED\xE8\xE9 \xCE\xED\xE5\xE3\xE8\xED";  // Russian in Windows-1251
  const Texts files({text});
  for (const char* kind : {"char", "word", "bpe"}) {
    EXPECT_TRUE(names(input_error_of([&] { tokenizer_of({.kind = kind, .vocab_size = 300}, files.corpus); }),
                      {files.corpus.files[0].name, "byte 0", "UTF-8"}))
        << kind;
  }
  const auto bytes = make_tokenizer("byte", {});
  EXPECT_EQ(bytes->decode(tokens_in(tokenize(files.corpus, *bytes).parts[0])), text);
}

}  // namespace
}  // namespace dikkat
