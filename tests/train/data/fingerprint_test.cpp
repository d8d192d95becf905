#include "train/data/corpus/fingerprint.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/corpus.h"
#include "train/data/tokens/tokenize.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {
namespace {

std::string fingerprint_of(const std::vector<std::string>& texts) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    paths.push_back(folder.write(concat(paths.size(), ".txt"), text));
  }
  return survey(open_corpus(paths), nullptr).fingerprint;
}

TEST(Fingerprint, IsTheSha256OfTheDocumentsSha256) {
  // for t in abc de; do printf $t | sha256sum | cut -c-64 | xxd -r -p; done | sha256sum
  EXPECT_EQ(fingerprint_of({"abc", "de"}), "a72656926e9116a5496c4967420d1df4a2c7794b5581fcf16f1b792642648c10");
}

TEST(Fingerprint, ChangesWithAByteAnOrderOrABoundary) {
  const std::string original = fingerprint_of({"abc", "de"});
  EXPECT_EQ(fingerprint_of({"abc", "", "de"}), original) << "empty files are left out";
  EXPECT_NE(fingerprint_of({"abd", "de"}), original);
  EXPECT_NE(fingerprint_of({"de", "abc"}), original);
  EXPECT_NE(fingerprint_of({"ab", "cde"}), original);
  EXPECT_NE(fingerprint_of({"abcde"}), original);
  EXPECT_NE(fingerprint_of({"abc", "de", "f"}), original);
}

TEST(Fingerprint, DoesNotDependOnHowTheTextWasCut) {
  const TemporaryFolder folder;
  const std::string text(2 << 20, 'x');  // as long as two blocks, so that its end shows when all has been given
  const std::string path[] = {folder.write("a.txt", text), folder.write("b.txt", "b")};
  const Corpus corpus = open_corpus(path);
  const auto bytes = make_tokenizer_maker({.kind = "byte"});
  const auto words = make_tokenizer_maker({.kind = "word"});
  EXPECT_EQ(survey(corpus, bytes.get()).fingerprint, survey(corpus, words.get()).fingerprint);
  EXPECT_EQ(survey(corpus, bytes.get()).documents, 2);
}

}  // namespace
}  // namespace dikkat
