#include "train/data/corpus/corpus.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversations.h"
#include "train/data/tokens/tokenize.h"

namespace dikkat {
namespace {

using testing::names;

namespace fs = std::filesystem;
using namespace std::string_literals;

Corpus open(std::initializer_list<std::string> paths) { return open_corpus(std::span(paths.begin(), paths.size())); }

struct ReadDocument {
  std::string name, text;
};

index all_stable(std::string_view text) { return static_cast<index>(text.size()); }

/// The documents of a corpus, assembled from their parts.
std::vector<ReadDocument> documents_of(const Corpus& corpus, const CorpusReader::StablePrefix& stable_prefix = all_stable) {
  std::vector<ReadDocument> documents;
  CorpusReader reader(corpus, stable_prefix);
  index start = 0;  // of a document in its file: after a byte order mark
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      if (chunk.begins) {
        documents.push_back({.name = corpus.files[chunk.file].name, .text = ""});
        start = chunk.offset;
      }
      EXPECT_EQ(chunk.offset, start + static_cast<index>(documents.back().text.size()));
      documents.back().text += chunk.text;
    }
  }
  return documents;
}

std::vector<ReadDocument> read(std::initializer_list<std::string> paths) { return documents_of(open(paths)); }

std::vector<std::string> names_of(const std::vector<ReadDocument>& documents) {
  std::vector<std::string> names;
  for (const ReadDocument& document : documents) {
    names.push_back(document.name);
  }
  return names;
}

std::vector<std::string> texts_of(const std::vector<ReadDocument>& documents) {
  std::vector<std::string> texts;
  for (const ReadDocument& document : documents) {
    texts.push_back(document.text);
  }
  return texts;
}

TEST(Corpus, ReadsFilesInTheOrderGivenByAbsolutePath) {
  const TemporaryFolder folder;
  const std::string b = folder.write("b.dat", "second\r\n");  // named by the person, so any extension will do
  const std::string a = folder.write("a.txt", "first\n");
  const std::vector<ReadDocument> documents = read({fs::relative(b).string(), a});
  EXPECT_EQ(names_of(documents), (std::vector<std::string>{b, a}));
  EXPECT_EQ(documents[0].text, "second\r\n") << "bytes are kept";
  EXPECT_EQ(survey(open({a, b}), nullptr).bytes, 14);
}

// The first page of a process's memory cannot be read: EIO, as from a failing disk. That is not the user's mistake (exit code 1, not 2).
TEST(Corpus, AReadErrorIsNotBadInput) {
  try {
    read({"/proc/self/mem"});
    FAIL() << "expected an error";
  } catch (const InputError& error) {
    FAIL() << "bad input: " << error.what();
  } catch (const Error& error) {
    EXPECT_TRUE(names(error.what(), {"/mem", "Input/output error"}));
  }
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
  for (const ReadDocument& document : read({folder.path("d")})) {
    all += document.text;
  }
  EXPECT_EQ(all, expected);
}

TEST(Corpus, ReadsFilesOfEverySizeAroundItsChunks) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 3000000; ++i) {
    text += concat(i, " ");
  }
  for (const index size : {1, 4095, 4096, 1048575, 1048576, 1048577, 2097152, 3000000}) {
    const std::string part = text.substr(0, static_cast<std::size_t>(size));
    EXPECT_TRUE(read({folder.write("part.txt", part)})[0].text == part) << size;
  }
}

TEST(Corpus, ReadsAFileOfTheSystemThatClaimsToBeEmpty) {
  if (!fs::exists("/proc/self/status")) {
    GTEST_SKIP() << "no /proc";
  }
  EXPECT_TRUE(read({"/proc/self/status"})[0].text.starts_with("Name:"));
}

TEST(Corpus, RefusesFilesThatAreNotText) {
  const TemporaryFolder folder;
  // Make files of all kinds.
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
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {{}, {"corpus", "--corpus PATH", "data.corpus"}},
      {{""}, {"corpus", "empty"}},
      {{good, folder.path("missing.txt")}, {folder.path("missing.txt"), "not exist"}},
      {{folder.path("good.txt/x")}, {folder.path("good.txt/x"), "not exist"}},
      {{dangling}, {dangling, "not exist"}},
      {{loop}, {loop, "reach"}},
      {{fifo}, {fifo, "FIFO"}},
      {{fifo_link}, {fifo_link, "FIFO"}},
      {{socket}, {socket, "a socket"}},
      {{"/dev/zero"}, {"/dev/zero", "device"}},
      {{folder.path("images")}, {folder.path("images"), "no text", ".txt, .md, .text, .jsonl or .ndjson"}},
      {{empty}, {empty, "is empty"}},
      {{empty, empty2}, {empty, "2", "are empty"}},
      {{good, folder.path("../") + fs::path(folder.path()).filename().string() + "/good.txt"}, {good, "twice"}},
      {{folder.write("a.bin", "ab\0c"s)}, {folder.path("a.bin"), "NUL", "byte 2"}},
      {{late_nul}, {late_nul, "NUL", "byte 600000"}},
      {{folder.write("utf16.txt", "\xFF\xFEh\0i\0"s)}, {folder.path("utf16.txt"), "iconv -f UTF-16 -t UTF-8 "}},
  };
  for (const Case& c : cases) {
    const std::string error = input_error_of([&] { survey(open_corpus(c.paths), nullptr); });
    EXPECT_TRUE(names(error, c.parts));
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
    ASSERT_TRUE(names(error, {"/17.txt"}));
  }
}

TEST(Corpus, ASparseFileIsRefusedWithoutReadingItWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.write("sparse.txt", "text");
  fs::resize_file(path, std::uintmax_t{1} << 33);
  const std::string error = input_error_of([&] { read({path}); });
  EXPECT_TRUE(names(error, {"NUL", "byte 4"}));
}

TEST(Corpus, ReportsFilesThatItMayNotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("secret.txt", "secret");
  folder.write("closed/a.txt", "a");
  folder.write("outer/inner/a.txt", "a");
  fs::permissions(file, fs::perms::none);
  fs::permissions(folder.path("closed"), fs::perms::none);
  fs::permissions(folder.path("outer/inner"), fs::perms::none);
  for (const std::string& open : {folder.path(), folder.path("outer")}) {
    fs::permissions(open, fs::perms{0755});  // for any umask, so that another user gets this far
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
  EXPECT_TRUE(names(of_file, {file, "open", "Permission denied"}));
  EXPECT_TRUE(names(of_folder, {"folder", folder.path("closed"), "Permission denied"}));
  EXPECT_TRUE(names(of_outer, {"folder", folder.path("outer/inner"), "Permission denied"}));
}

TEST(Corpus, ReadsFilesCompressedByGzipAndZstd) {
  const TemporaryFolder folder;
  const std::string text = "some text, and again some text, and again some text\n";
  const std::string plain = folder.write("plain.txt", text);
  for (const char* compress : {"gzip -k", "zstd -q -k"}) {
    ASSERT_EQ(std::system(concat("cd ", folder.path(), " && ", compress, " plain.txt && cat plain.txt.* > twice").c_str()), 0);
    const std::string file = folder.path(concat("plain.txt", compress[0] == 'g' ? ".gz" : ".zst"));
    EXPECT_EQ(read({file})[0].text, text);
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(read({folder.write("no-name", bytes)})[0].text, text) << "recognized by its first bytes";
    EXPECT_EQ(read({folder.write("two", bytes + bytes)})[0].text, text + text);
    const std::string cut = folder.write("cut.gz", std::string_view(bytes).substr(0, bytes.size() - 7));
    EXPECT_TRUE(names(input_error_of([&] { read({cut}); }), {cut, "cut off"}));
    std::string damaged = bytes;
    damaged[bytes.size() / 2] = static_cast<char>(damaged[bytes.size() / 2] ^ 0x55);
    const std::string error = input_error_of([&] { read({folder.write("damaged.gz", damaged)}); });
    EXPECT_TRUE(names(error, {"damaged.gz is damaged"}) || names(error, {"damaged.gz", "NUL"})) << error;
    EXPECT_EQ(names_of(read({folder.path()})).size(), 2U) << "cut.gz and damaged.gz do not have names of texts";
    fs::remove(file);
    fs::remove(folder.path("cut.gz"));
    fs::remove(folder.path("damaged.gz"));
  }
}

TEST(Corpus, ZeroBytesAfterGzipDataAreIgnored) {
  const TemporaryFolder folder;
  const std::string plain = folder.write("plain.txt", "text in two parts");
  ASSERT_EQ(std::system(concat("gzip -k ", plain).c_str()), 0);
  std::ifstream stream(plain + ".gz", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  for (const std::size_t zeros : {1U, 512U, 200000U}) {
    EXPECT_EQ(read({folder.write("padded.gz", bytes + std::string(zeros, '\0'))})[0].text, "text in two parts") << zeros;
    EXPECT_TRUE(names(input_error_of([&] { read({folder.write("rubbish.gz", bytes + std::string(zeros, '\0') + "x")}); }), {"rubbish.gz"}));
  }
}

TEST(Corpus, AByteOrderMarkAtTheStartOfAFileIsNotText) {
  const TemporaryFolder folder;
  EXPECT_EQ(read({folder.write("a.txt", "\xEF\xBB\xBFtext\xEF\xBB\xBFtext")})[0].text, "text\xEF\xBB\xBFtext");
  EXPECT_EQ(read({folder.write("b.jsonl", "\xEF\xBB\xBF{\"text\":\"line\"}\n")})[0].text, "line");
  for (const char* text : {"a", "\xEF\xBB", "abc", "\xEF\xBB\xBE"}) {
    EXPECT_EQ(read({folder.write("c.txt", text)})[0].text, text);
  }
  const std::string bad = folder.write("d.txt",
                                       "\xEF\xBB\xBF"
                                       "ab\xFF");
  const auto maker = make_tokenizer_maker({.kind = "char"});
  const std::string paths[] = {bad};
  EXPECT_TRUE(names(input_error_of([&] { survey(open_corpus(paths), maker.get()); }), {"d.txt", "byte 5", "UTF-8"}))
      << "bytes are counted from the start of the file";
}

TEST(Corpus, ANulByteIsOnlyForATokenizerOfBytes) {
  const TemporaryFolder folder;
  const std::string binary = folder.write("a.bin", "ab\0c"s);
  const std::string lines = folder.write("b.jsonl", R"({"text":"good"})"
                                                    "\n"
                                                    R"({"text":"a\u0000b"})"
                                                    "\n");
  const std::string paths[] = {binary, lines};
  EXPECT_TRUE(names(input_error_of([&] { read({binary}); }), {"a.bin", "NUL", "byte 2"}));
  EXPECT_TRUE(names(input_error_of([&] { read({lines}); }), {"b.jsonl", "line 2", "NUL", "byte 1"}));
  const Corpus corpus = open_corpus(paths, {.any_bytes = true});
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()); });
  const auto chunks = reader.next();
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].text, "ab\0c"s);
  EXPECT_EQ(chunks[2].text, "a\0b"s);
}

TEST(Corpus, ReportsOtherFilesOfAFolder) {
  const TemporaryFolder folder;
  for (const char* name : {"a.txt", "b/c.md", "x.log.gz", "y.log.gz", "Z.PNG", "Makefile", ".hidden/secret.txt", ".dot", "text.txt.gz"}) {
    folder.write(name, "text");
  }
  fs::create_symlink("nowhere", folder.path("dangling.txt"));
  const std::string paths[] = {folder.path()};
  const Corpus corpus = open_corpus(paths);
  EXPECT_EQ(corpus.files.size(), 3U);
  EXPECT_TRUE(
      names(describe(corpus.skipped), {"7", "2 hidden", folder.path(".dot"), "2", " .log.gz", folder.path("x.log.gz"), "1", "regular",
                                       folder.path("dangling.txt"), " .PNG", folder.path("Z.PNG"), "ending", folder.path("Makefile")}));
  const std::string text[] = {folder.path("b")};
  EXPECT_EQ(describe(open_corpus(text).skipped), "");
}

TEST(Corpus, AFolderOfSourceCodeIsReadByAPattern) {
  const TemporaryFolder folder;
  for (const char* name : {"src/a.cpp", "src/deep/er/b.cpp", "src/deep/c.h", "src/.hidden/d.cpp"}) {
    folder.write(name, name);
  }
  const std::string error = input_error_of([&] { read({folder.path("src")}); });
  const std::string pattern = folder.path("src") + "/**/*.cpp";
  EXPECT_TRUE(names(error, {folder.path("src"), "no text", ".txt", "2", " .cpp", pattern}));
  EXPECT_EQ(names_of(read({pattern})), (std::vector<std::string>{folder.path("src/a.cpp"), folder.path("src/deep/er/b.cpp")}));
  EXPECT_TRUE(names(input_error_of([&] { read({folder.path("src") + "/**/*.py"}); }), {folder.path("src") + "/**/*.py", "pattern"}));
  EXPECT_TRUE(names(input_error_of([&] { read({folder.path("none") + "/**/*.py"}); }), {folder.path("none") + "/**/*.py", "pattern"}));
}

TEST(Corpus, PatternsStandForTheFilesThatTheyMatch) {
  const TemporaryFolder folder;
  for (const char* name : {"b2.txt", "b1.txt", "c.txt", "b3.dat"}) {
    folder.write(name, name);
  }
  const std::string odd = folder.write("[odd].txt", "odd");
  EXPECT_EQ(texts_of(read({folder.path("b*.txt")})), (std::vector<std::string>{"b1.txt", "b2.txt"}));
  EXPECT_EQ(texts_of(read({odd})), (std::vector<std::string>{"odd"})) << "a file of that name";
  EXPECT_TRUE(names(input_error_of([&] { read({folder.path("x*.txt")}); }), {folder.path("x*.txt"), "pattern"}));
}

TEST(Corpus, JsonlHasADocumentALine) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.jsonl", "{\"text\": \"one\\ntwo\", \"n\": 1}\n\n{\"text\": \"\"}\r\n{\"text\":\"\\u3042\"}");
  EXPECT_EQ(texts_of(read({file})), (std::vector<std::string>{"one\ntwo", "\u3042"}));
  std::string large;
  for (int i = 0; i < 100000; ++i) {
    large += concat("{\"id\": ", i, ", \"text\": \"line ", i, "\"}\n");
  }
  const auto texts = texts_of(read({folder.write("large.ndjson", large)}));
  ASSERT_EQ(texts.size(), 100000U);
  EXPECT_EQ(texts[77777], "line 77777");

  const auto error_of_text = [&](const std::string& text, const CorpusOptions& options = {}) {
    const std::string path[] = {folder.write("bad.jsonl", text)};
    return input_error_of([&] { survey(open_corpus(path, options), nullptr); });
  };
  EXPECT_TRUE(names(error_of_text("{\"text\":\"a\"}\n{\"text\": 3}"), {"bad.jsonl", "line 2", "\"text\"", "number", "string"}));
  EXPECT_TRUE(names(error_of_text("{\"body\":\"a\"}"),
                    {"line 1", "\"body\"", "\"messages\"", "\"prompt\"", "\"completion\"", "\"text\"", "data.text_field"}));
  EXPECT_TRUE(
      names(error_of_text("{\"text\":\"a\"}\n{\"messages\": []}"), {"line 2", "conversation", "\"text\"", "data.text_field", "--chat"}));
  EXPECT_TRUE(names(error_of_text("{\"messages\": []}"), {"line 1", "conversation", "\"text\"", "data.text_field", "--chat"}));
  EXPECT_TRUE(names(error_of_text("{\"text\":\"a\"}\n\n[1]"), {"line 3", "array", "object"}));
  EXPECT_TRUE(names(error_of_text("{\"text\":"), {"bad.jsonl", "line 1", "column 9", "JSON"}));
  EXPECT_TRUE(names(error_of_text("{\"text\": 1e999}"), {"bad.jsonl", "line 1", "f64"}));
  const std::string body[] = {folder.write("body.jsonl", "{\"body\":\"a\"}")};
  EXPECT_EQ(documents_of(open_corpus(body, {.names = {.text = "body"}}))[0].text, "a");
}

TEST(Corpus, ReadsTextsFromJsonHoweverTheFileIsCalled) {
  const TemporaryFolder folder;
  const std::vector<std::string> expected = {"one\ntwo", "three"};
  for (const auto& [name, text] : {std::pair("a.jsonl", "{\"text\": \"one\\ntwo\"}\n\n{\"text\": \"three\"}"),
                                   {"a.json", "\xEF\xBB\xBF[{\"text\": \"one\\ntwo\", \"id\": 1},\n {\"text\": \"three\"}]\n"},
                                   {"b.jsonl", "[\n{\"text\": \"one\\ntwo\"}, {\"text\": \"three\"}]"},
                                   {"a.txt", "{\"text\": \"one\\ntwo\"}\n{\"text\": \"three\"}\n"},
                                   {"b.txt", "{\n \"text\": \"one\\ntwo\"\n}\n{\n \"text\": \"three\"\n}"}}) {
    EXPECT_EQ(texts_of(read({folder.write(name, text)})), expected) << name;
  }
  EXPECT_EQ(texts_of(read({folder.write("c.txt", "{ is a brace")})), (std::vector<std::string>{"{ is a brace"}));
  const std::string broken = folder.write("d.json", "[{\"text\": \"one\"}, {\"text\": 3}]"),
                    cut = folder.write("e.json", "[{\"text\": \"one\"},");
  EXPECT_TRUE(names(input_error_of([&] { read({broken}); }), {broken, "object 2", "number"}));
}

TEST(Corpus, NoExampleIsReadAsPlainText) {
  const TemporaryFolder folder;
  const struct {
    const char *name, *text, *what;
  } cases[] = {{"alpaca.json", R"([{"instruction": "a", "input": "", "output": "b"}])", "conversation"},
               {"sharegpt.txt", R"([{"id": 1, "conversations": [{"from": "human", "value": "a"}]}])", "conversation"},
               {"chats.txt", "{\"messages\": []}\n", "conversation"},
               {"pretty.json", "{\n\"prompt\": \"a\",\n\"completion\": \"b\"\n}", "conversation"},
               {"dpo.json", R"([{"prompt": "a", "chosen": "b", "rejected": "c"}])", "\"rejected\""},
               {"kto.jsonl", R"({"prompt": "a", "completion": "b", "label": true})", "\"label\""},
               {"labels.jsonl", R"({"text": "a", "label": 3})", "label"},
               {"later.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\", \"label\": \"sports\"}", "line 2"},
               {"plural.json", R"([{"text": "a", "labels": [1]}])", "object 1"},
               {"table.csv", "prompt,completion\na,b\n", "row 2"},
               {"table.txt", "\"instruction\"\t\"output\"\r\na\tb\r\n", "conversation"}};
  for (const auto& [name, text, what] : cases) {
    const std::string path = folder.write(name, text);
    EXPECT_TRUE(names(input_error_of([&] { survey(open({path}), nullptr); }), {path, what})) << name;
  }
}

TEST(Corpus, OtherJsonAndTablesAreTextOrRefused) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : {std::pair("a.json", R"([{"question": "a", "reply": "b"}])"),
                                   {"b.json", R"(["a", "b"])"},
                                   {"c.csv", "name;size\na;3\n"},
                                   {"d.json", "{\n\"rows\": [{\"text\": \"a\"}]}"},
                                   {"e.tsv", "a\tb\n"}}) {
    const std::vector<std::string> path = {folder.write(name, text)};
    const std::vector<std::string> notes = survey(open_corpus(path), nullptr).notes;
    ASSERT_EQ(notes.size(), 1U) << name;
    const char* const advice = path[0].ends_with("sv") ? "--columns" : "python3";
    EXPECT_TRUE(names(notes[0], {path[0], advice}));
    EXPECT_TRUE(names(input_error_of([&] { open_corpus(path, {.refuses_json = true}); }), {path[0], advice})) << name;
    EXPECT_EQ(texts_of(documents_of(open_corpus(path))), std::vector<std::string>{text}) << name;
  }
}

TEST(Corpus, CommandsForOtherFormsGiveWhatIsRead) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : {std::pair("a.json", R"([{"question": "the lamp?", "reply": "\u0131\u015f\u0131k"}])"),
                                   {"b.json", R"(["the lamp", "turns"])"},
                                   {"d.json", "{\n\"rows\": [{\"text\": \"the lamp\"}]}"},
                                   {"e.json", "{\"question\": \"the lamp?\", \"reply\": \"turns\"}\n"},
                                   {"g.jsonl", "{\"text\": \"the lamp\", \"label\": 1}\n"}}) {
    const std::vector<std::string> path = {folder.write(name, text)};
    const std::string error = input_error_of([&] { survey(open_corpus(path, {.refuses_json = true}), nullptr); });
    const std::size_t at = error.find("python3");
    ASSERT_NE(at, std::string::npos) << error;
    ASSERT_EQ(std::system(error.substr(at).c_str()), 0) << error;
    const std::vector<std::string> converted = {path[0] + (std::string_view(name) == "g.jsonl" ? ".texts.jsonl" : ".jsonl")};
    const DataKind kind = contents_of(converted, {}).kind;
    EXPECT_TRUE(kind == DataKind::conversations || kind == DataKind::documents) << name;
    read_conversations(converted, {});
  }
}

TEST(Corpus, ListsTheKeysThatItDoesNotRead) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"text\": \"a\", \"url\": \"x\"}\n{\"text\": \"b\", \"url\": \"y\", \"id\": 2}\n");
  const std::vector<std::string> notes = survey(open({path}), nullptr).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(names(notes[0], {"\"url\" on 2", "\"id\" on 1"}));
}

TEST(Corpus, ATextInAnotherEncodingIsNotReplacedByMarks) {
  const TemporaryFolder folder;
  std::string russian;
  for (int i = 0; i < 20; ++i) {
    russian += "\xC2\xF1\xE5 \xEF\xF0\xE8\xE2\xE5\xF2\xF1\xF2\xE2\xEE\xE2\xE0\xEB\xE8 \xE4\xF0\xF3\xE3\xE0.\n";  // Windows-1251
  }
  const std::vector<std::string> path = {folder.write("a.txt", russian)};
  EXPECT_TRUE(
      names(input_error_of([&] { survey(open_corpus(path, {.replace_invalid = true}), nullptr); }), {path[0], "iconv -f WINDOWS-1251"}));
  const auto maker = make_tokenizer_maker({.kind = "char"});
  EXPECT_TRUE(names(input_error_of([&] { survey(open_corpus(path), maker.get()); }), {path[0], "iconv -f WINDOWS-1251"}));
  const std::vector<std::string> damaged = {folder.write("b.txt", std::string(5000, 'a') + "\xE9" + std::string(5000, 'b'))};
  const std::vector<std::string> notes = survey(open_corpus(damaged, {.replace_invalid = true}), nullptr).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(names(notes[0], {"1 place", "data.invalid_utf8"}));
}

TEST(Corpus, ReportsFilesWithLineBreaksOfWindows) {
  const TemporaryFolder folder;
  const std::string text = folder.write("a.txt", "one\r\ntwo\n"), line = folder.write("b.jsonl", "{\"text\": \"one\"}\r\n"),
                    within = folder.write("c.jsonl", "{\"text\": \"one\\r\\ntwo\"}\n");
  const auto notes = [&](std::initializer_list<std::string> paths) { return survey(open(paths), nullptr).notes; };
  EXPECT_EQ(notes({line}).size(), 0U) << "there it only ends a line of JSON";
  ASSERT_EQ(notes({line, text}).size(), 1U);
  EXPECT_TRUE(names(notes({line, text})[0], {text, "Windows"}));
  ASSERT_EQ(notes({text, within}).size(), 1U);
  EXPECT_TRUE(names(notes({text, within})[0], {"2 files", text, "Windows"}));
  EXPECT_EQ(texts_of(read({text})), (std::vector<std::string>{"one\r\ntwo\n"})) << "they are kept";
}

TEST(Corpus, BytesThatAreNotUtf8AreReplacedWhenAsked) {
  const TemporaryFolder folder;
  // The cases are table 3-11 of the Unicode standard, and characters cut by the blocks that are read.
  const std::string bad =
      "a\xF1\x80\x80\xE1\x80\xC2"
      "b\x80"
      "c\x80\xBF"
      "d\xE3\x81";
  const std::string path[] = {folder.write("bad.txt", bad)};
  EXPECT_EQ(documents_of(open_corpus(path, {.replace_invalid = true}))[0].text,
            "a\uFFFD\uFFFD\uFFFD"
            "b\uFFFD"
            "c\uFFFD\uFFFD"
            "d\uFFFD");
  std::string good(1048575, 'x');
  good += "\u3042\u3042\u3042";
  const std::string path2[] = {folder.write("good.txt", good)};
  EXPECT_TRUE(documents_of(open_corpus(path2, {.replace_invalid = true}))[0].text == good);
}

TEST(Corpus, ATextIsCutAtAnAllowedPlace) {
  const TemporaryFolder folder;
  std::string text;
  while (text.size() < 5'000'000) {
    text += text.size() % 7 == 0 ? "word\n" : "another ";
  }
  const std::string path[] = {folder.write("a.txt", text)};
  const Corpus corpus = open_corpus(path);
  CorpusReader reader(corpus, [](std::string_view part) { return static_cast<index>(part.rfind('\n') + 1); });
  std::size_t pieces = 0;
  bool ended = false;
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      EXPECT_TRUE(chunk.ends || chunk.text.ends_with('\n'));
      EXPECT_LT(chunk.text.size(), 3'000'000U);
      EXPECT_FALSE(ended);
      ended = chunk.ends;
      ++pieces;
    }
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(pieces, 2U);
  EXPECT_TRUE(documents_of(corpus, [](std::string_view) { return index{0}; })[0].text == text) << "a text without a place to be cut";
}

/// The texts before and after the split point.
std::pair<std::string, std::string> parts_of(const Corpus& corpus, index split) {
  std::pair<std::string, std::string> parts;
  CorpusReader reader(corpus, all_stable, split_at(survey(corpus, nullptr).bytes_of_files, split));
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      (chunk.after_split ? parts.second : parts.first) += chunk.begins ? concat("|", chunk.text) : chunk.text;
    }
  }
  return parts;
}

TEST(Corpus, TheSeamCutsADocumentAtACharacter) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "aaaa"), b = folder.write("b.txt", "b\u3042\u3042"), c = folder.write("c.txt", "cc");
  const Corpus corpus = open({a, b, c});
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(parts_of(corpus, 0), (Parts{"", "|aaaa|b\u3042\u3042|cc"}));
  EXPECT_EQ(parts_of(corpus, 2), (Parts{"|aa", "|aa|b\u3042\u3042|cc"}));
  EXPECT_EQ(parts_of(corpus, 4), (Parts{"|aaaa", "|b\u3042\u3042|cc"})) << "between two documents";
  EXPECT_EQ(parts_of(corpus, 5), (Parts{"|aaaa|b", "|\u3042\u3042|cc"}));
  EXPECT_EQ(parts_of(corpus, 6), (Parts{"|aaaa|b", "|\u3042\u3042|cc"}));
  EXPECT_EQ(parts_of(corpus, 8), (Parts{"|aaaa|b\u3042", "|\u3042|cc"}));
  EXPECT_EQ(parts_of(corpus, 12), (Parts{"|aaaa|b\u3042\u3042|c", "|c"}));
  EXPECT_EQ(parts_of(corpus, 13), (Parts{"|aaaa|b\u3042\u3042|cc", ""}));
}

TEST(Corpus, SurveyCountsAndLearns) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "abc"), b = folder.write("b.jsonl", "{\"text\":\"de\"}\n{\"text\":\"fa\"}");
  const auto maker = make_tokenizer_maker({.kind = "char"});
  index last = 0;
  const CorpusFacts facts = survey(open({a, b}), maker.get(), [&](index bytes) { last = bytes; });
  EXPECT_EQ(facts.documents, 3);
  EXPECT_EQ(facts.bytes, 7);
  EXPECT_EQ(last, 7);
  EXPECT_EQ(maker->make()->vocab_size(), 6);
  const std::string bad = folder.write("bad.jsonl", "{\"text\":\"ok\"}\n{\"text\":\"\\ud83d\\ude00\"}");
  const auto tokenizer = make_tokenizer("char", std::vector<std::string_view>{"ok"});
  EXPECT_TRUE(names(input_error_of([&] { tokenize(open({bad}), *tokenizer); }), {"bad.jsonl", "line 2", "byte 0", "U+1F600"}));
}

TEST(Training, ShareIsOfTheFirstBytes) {
  EXPECT_EQ(training_share(10, 0.1), 9);
  EXPECT_EQ(training_share(10, 0.25), 7) << "7.5 bytes";
  EXPECT_EQ(training_share(10, 0), 10);
  for (const double bad : {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(training_share(10, bad), InputError) << bad;
  }
}

}  // namespace
}  // namespace dikkat
