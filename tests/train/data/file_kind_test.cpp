#include "train/data/corpus/file_kind.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/corpus.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/pairs.h"
#include "train/data/tokens/token_shards.h"

// The readers of a corpus name the kind of a file that is not text.
namespace dikkat {
namespace {

using testing::names;

using namespace std::string_literals;

/// `ascii` in UTF-16 or UTF-32, without a mark: `width` bytes for each character.
std::string widened(const std::string& ascii, std::size_t width, bool big_endian) {
  std::string wide;
  for (const char c : ascii) {
    std::string unit(width, '\0');
    unit[big_endian ? width - 1 : 0] = c;
    wide += unit;
  }
  return wide;
}

const std::string kProse = "The lamp turns\nand ships go by.\n";

TEST(FileKind, TheCommandForWideTextGivesTextThatIsRead) {
  const TemporaryFolder folder;
  const struct {
    std::string name, text, encoding;
  } cases[] = {{"le16.txt", widened(kProse, 2, false), "UTF-16LE"},
               {"be16.txt", widened(kProse, 2, true), "UTF-16BE"},
               {"le32.txt", widened(kProse, 4, false), "UTF-32LE"},
               {"be32.txt", widened(kProse, 4, true), "UTF-32BE"},
               {"mark-le16.txt", "\xFF\xFE" + widened(kProse, 2, false), "UTF-16"},
               {"mark-be16.txt", "\xFE\xFF" + widened(kProse, 2, true), "UTF-16"},
               {"mark-le32.txt", "\xFF\xFE\0\0"s + widened(kProse, 4, false), "UTF-32"},
               {"mark-be32.txt", "\0\0\xFE\xFF"s + widened(kProse, 4, true), "UTF-32"},
               {"cyrillic.txt",
                "\x3B\x04\x30\x04\x3C\x04\x3F\x04\x30\x04\x20\x00\x38\x04\x3B\x04\x30\x04\x3C\x04\x3F\x04\x30\x04\x20\x00"
                "\x38\x04\x3B\x04\x30\x04\x3C\x04\x3F\x04\x30\x04\x20\x00\x38\x04\x0A\x00"s,
                "UTF-16LE"}};
  for (const auto& [name, text, encoding] : cases) {
    const std::string path = folder.write(name, text);
    const std::string error = input_error_of([&] { survey(open_corpus(std::vector{path}), nullptr); });
    EXPECT_TRUE(names(error, {path, concat("iconv -f ", encoding, " ")}));
    const std::size_t at = error.find("iconv");
    ASSERT_NE(at, std::string::npos) << error;
    ASSERT_EQ(std::system(error.substr(at).c_str()), 0) << error;
    const CorpusFacts facts = survey(open_corpus(std::vector{path + ".txt"}), nullptr);
    EXPECT_GT(facts.bytes, 20) << name;
  }
}

TEST(FileKind, EveryReaderNamesTheKindOfTheFile) {
  const TemporaryFolder folder;
  const struct {
    std::string bytes, what, command;
  } cases[] = {{"PAR1\x15\0\x15\x10PAR1"s, "Parquet", "read_parquet"},
               {"BZh91AY&SY\x12\0"s, "bzip2", "bunzip2"},
               {"\xFD"
                "7zXZ\0\0\4"s,
                "xz", "unxz"},
               {"PK\x03\x04\x14\0\0\0"s, "ZIP", "unzip"},
               {"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", "PDF", "pdftotext"},
               {"\x93NUMPY\x01\0v\0"s, "NumPy", "tofile"},
               {"\x89HDF\r\n\x1A\n\0"s, "HDF5", "inspect"},
               {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n", "LFS", "git lfs pull"}};
  for (const auto& [bytes, what, command] : cases) {
    const auto expect = [&, &what = what, &command = command](const std::string& error) { EXPECT_TRUE(names(error, {what, command})); };
    const std::vector<std::string> text = {folder.write("a.txt", bytes)}, lines = {folder.write("a.jsonl", bytes)},
                                   pairs = {folder.write("a.tsv", bytes)},
                                   tokens = {folder.write("a.bin", bytes + std::string(bytes.size() % 2, '\0'))};
    expect(input_error_of([&] { survey(open_corpus(text), nullptr); }));
    expect(input_error_of([&] { survey(open_corpus(lines), nullptr); }));
    expect(input_error_of([&] { read_conversations(lines, {}); }));
    expect(input_error_of([&] { read_pairs(pairs); }));
    if (what != "bzip2") {  // three bytes are too few to distinguish them from ids
      expect(input_error_of([&] { open_token_shards(map_token_shards(find_corpus_files(tokens, kTokenExtensions)), 50257, {}); }));
    }
    const Corpus any = open_corpus(text, {.any_bytes = true});
    EXPECT_EQ(survey(any, nullptr).bytes, static_cast<index>(bytes.size())) << "the byte tokenizer reads any file";
  }
}

TEST(FileKind, IsNotGuessedFromAFewNulBytes) {
  EXPECT_EQ(wide_encoding("ab\0c"s), "");
  EXPECT_EQ(wide_encoding(std::string(1000, '\0')), "");
  EXPECT_EQ(wide_encoding(kProse + "\0\0\0\0"s), "");
}

}  // namespace
}  // namespace dikkat
