#include "train/data/corpus.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"
#include "train/data/fingerprint.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

Corpus read(std::initializer_list<std::string> paths) { return read_corpus(std::span(paths.begin(), paths.size())); }

std::vector<std::string> names_of(const Corpus& corpus) {
  std::vector<std::string> names;
  for (const Document& document : corpus.documents) {
    names.push_back(document.name);
  }
  return names;
}

TEST(Corpus, ReadsFilesInTheOrderGivenByAbsolutePath) {
  const TemporaryFolder folder;
  const std::string b = folder.write("b.dat", "second\r\n");  // named by the person, so any extension will do
  const std::string a = folder.write("a.txt", "first\n");
  const Corpus corpus = read({fs::relative(b).string(), a});
  EXPECT_EQ(names_of(corpus), (std::vector<std::string>{b, a}));
  EXPECT_EQ(corpus.documents[0].text, "second\r\n") << "bytes are kept as they are";
  EXPECT_EQ(byte_count(corpus.passages()), 14);
}

TEST(Corpus, AFolderStandsForItsTextFilesSortedByPath) {
  const TemporaryFolder folder;
  const std::string z = folder.write("z.txt", "z");
  const std::string deep = folder.write("m/n/deep.TXT", "deep");
  const std::string note = folder.write("m/note.md", "note");
  const std::string a = folder.write("a.text", "a");
  folder.write("image.png", "no text");
  folder.write(".hidden.txt", "hidden");
  folder.write(".git/config.txt", "hidden");
  folder.write("m/empty.txt", "");
  ASSERT_EQ(::mkfifo(folder.path("pipe.txt").c_str(), 0600), 0);  // opening it would hang
  fs::create_symlink("nowhere", folder.path("dangling.txt"));
  fs::create_directory_symlink(folder.path(), folder.path("loop"));
  EXPECT_EQ(names_of(read({folder.path()})), (std::vector<std::string>{a, deep, note, z}));
}

TEST(Corpus, ReadsAFolderOfManyFilesInOrder) {
  const TemporaryFolder folder;
  std::string expected;
  for (int i = 100; i < 300; ++i) {
    folder.write(concat("d/", i, ".txt"), concat("text ", i, "\n"));
    expected += concat("text ", i, "\n");
  }
  std::string all;
  for (const Document& document : read({folder.path("d")}).documents) {
    all += document.text;
  }
  EXPECT_EQ(all, expected);
}

TEST(Corpus, ReadsFilesOfEverySizeAroundItsChunks) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 1000000; ++i) {
    text += concat(i, " ");
  }
  for (const index size : {1, 4095, 4096, 4097, 8192, 262143, 262144, 262145, 266240, 524288, 1000000}) {
    const std::string part = text.substr(0, static_cast<std::size_t>(size));
    EXPECT_TRUE(read({folder.write("part.txt", part)}).documents[0].text == part) << size;
  }
}

TEST(Corpus, ReadsAFileOfTheSystemThatSaysItIsEmpty) {
  if (!fs::exists("/proc/self/status")) {
    GTEST_SKIP() << "no /proc";
  }
  EXPECT_TRUE(read({"/proc/self/status"}).documents[0].text.starts_with("Name:"));
}

TEST(Corpus, RefusesWhatIsNoText) {
  const TemporaryFolder folder;
  const std::string fifo = folder.path("fifo");
  const std::string fifo_link = folder.path("link.txt");
  const std::string socket = folder.path("socket");
  const std::string dangling = folder.path("dangling.txt");
  const std::string loop = folder.path("loop.txt");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink(fifo, fifo_link);
  fs::create_symlink("nowhere", dangling);
  fs::create_symlink("loop.txt", loop);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.size(), sizeof address.sun_path);
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  folder.write("images/cat.png", "png");
  folder.write("images/.cat.txt", "hidden");
  const std::string empty = folder.write("empty.txt", "");
  const std::string empty2 = folder.write("empty2.txt", "");
  const std::string good = folder.write("good.txt", "good");
  const std::string late_nul = folder.write("late.txt", std::string(600000, 'x') + "\0y"s);

  struct Case {
    std::vector<std::string> paths;
    std::string words;
  };
  const Case cases[] = {
      {{}, "corpus: none is given, expected a text file or a folder of text files (--corpus PATH or data.corpus)"},
      {{""}, "corpus: a path is empty"},
      {{good, folder.path("missing.txt")}, "missing.txt does not exist, expected a text file or a folder of text files"},
      {{folder.path("good.txt/x")}, "good.txt/x does not exist"},
      {{dangling}, "dangling.txt does not exist"},
      {{loop}, "corpus: cannot reach "},
      {{fifo}, "fifo is a FIFO, expected a text file or a folder"},
      {{fifo_link}, "link.txt is a FIFO"},
      {{socket}, "socket is a socket"},
      {{"/dev/zero"}, "/dev/zero is a device"},
      {{folder.path("images")}, "images holds no text, expected files that end in .txt, .md or .text"},
      {{empty}, concat(empty, " is empty, expected text")},
      {{empty, empty2}, concat(empty, " and all other files (2 in all) are empty, expected text")},
      {{good, folder.path("../") + fs::path(folder.path()).filename().string() + "/good.txt"}, "good.txt is given twice"},
      {{folder.write("a.bin", "ab\0c"s)}, "a.bin is not text: it has a NUL byte at byte 2, expected a text file"},
      {{late_nul}, "late.txt is not text: it has a NUL byte at byte 600000"},
      {{folder.write("utf16.txt", "\xFF\xFEh\0i\0"s)},
       "NUL byte at byte 3; it looks like UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
  };
  for (const Case& c : cases) {
    const std::string error = input_error_of([&] { read_corpus(c.paths); });
    EXPECT_NE(error.find(c.words), std::string::npos) << "expected: " << c.words << "\n  answered: " << error;
  }
  ::close(listener);
}

TEST(Corpus, OfSeveralBadFilesTheFirstIsNamed) {
  const TemporaryFolder folder;
  for (int i = 10; i < 60; ++i) {
    folder.write(concat(i, ".txt"), i < 17 ? "good" : "\0bad"s);
  }
  for (int run = 0; run < 20; ++run) {
    const std::string error = input_error_of([&] { read({folder.path()}); });
    ASSERT_NE(error.find("/17.txt is not text"), std::string::npos) << error;
  }
}

TEST(Corpus, ASparseFileIsRefusedWithoutReadingItWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.write("sparse.txt", "text");
  fs::resize_file(path, std::uintmax_t{1} << 33);
  const std::string error = input_error_of([&] { read({path}); });  // the first NUL, or no room: it depends on the machine
  EXPECT_TRUE(error.find("NUL byte at byte 4") != std::string::npos || error.find("more than there is memory for") != std::string::npos)
      << error;
}

TEST(Corpus, SaysWhenItMayNotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("secret.txt", "secret");
  folder.write("closed/a.txt", "a");
  folder.write("outer/inner/a.txt", "a");
  fs::permissions(file, fs::perms::none);
  fs::permissions(folder.path("closed"), fs::perms::none);
  fs::permissions(folder.path("outer/inner"), fs::perms::none);
  for (const std::string& open : {folder.path(), folder.path("outer")}) {
    fs::permissions(open, fs::perms{0755});  // whatever the umask: another user is to get this far
  }
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  if (root && ::seteuid(kNobody) != 0) {
    GTEST_SKIP() << "root reads everything, and this one may not become another user";
  }
  const std::string of_file = input_error_of([&] { read({file}); });
  const std::string of_folder = input_error_of([&] { read({folder.path("closed")}); });
  const std::string of_outer = input_error_of([&] { read({folder.path("outer")}); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder.path("closed"), fs::perms::owner_all);
  fs::permissions(folder.path("outer/inner"), fs::perms::owner_all);
  EXPECT_EQ(of_file, concat("corpus: cannot open ", file, ": Permission denied"));
  EXPECT_EQ(of_folder, concat("corpus: cannot list the folder ", folder.path("closed"), ": Permission denied"));
  EXPECT_EQ(of_outer, concat("corpus: cannot list the folder ", folder.path("outer/inner"), ": Permission denied"));
}

Corpus corpus_of(std::initializer_list<std::string> texts) {
  Corpus corpus;
  for (const std::string& text : texts) {
    corpus.documents.push_back({.name = concat("/", corpus.documents.size(), ".txt"), .text = text});
  }
  return corpus;
}

TEST(Fingerprint, IsTheSha256OfLengthsAndBytes) {
  // printf '\3\0\0\0\0\0\0\0abc\2\0\0\0\0\0\0\0de' | sha256sum
  EXPECT_EQ(fingerprint(corpus_of({"abc", "de"})), "bb20916c560837a0d3d4bda7c626818e12e8be20944518c13f5cdf9dad73bed4");
}

TEST(Fingerprint, ChangesWithAByteAnOrderOrABoundaryAndNotWithAName) {
  const std::string original = fingerprint(corpus_of({"abc", "de"}));
  EXPECT_NE(fingerprint(corpus_of({"abd", "de"})), original);
  EXPECT_NE(fingerprint(corpus_of({"de", "abc"})), original);
  EXPECT_NE(fingerprint(corpus_of({"ab", "cde"})), original);
  EXPECT_NE(fingerprint(corpus_of({"abcde"})), original);
  EXPECT_NE(fingerprint(corpus_of({"abc", "de", "f"})), original);
  Corpus moved = corpus_of({"abc", "de"});
  moved.documents[0].name = "/elsewhere";
  EXPECT_EQ(fingerprint(moved), original);
}

}  // namespace
}  // namespace dikkat
