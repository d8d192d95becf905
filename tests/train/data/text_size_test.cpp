#include "train/data/tokens/text_size.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

TextSize size_of(const std::vector<std::string>& texts, const Tokenizer& tokenizer, Token first_new = 1 << 20) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    paths.push_back(folder.write(concat(paths.size(), ".txt"), text));
  }
  return size_of_text(open_corpus(paths), tokenizer, first_new);
}

TEST(TextSize, CountsWordsBetweenWhiteSpace) {
  const ByteTokenizer bytes;
  EXPECT_EQ(size_of({"one two\n\tthree  "}, bytes), (TextSize{.bytes = 16, .words = 3, .tokens = 16}));
  EXPECT_EQ(size_of({"a", "b c", " d"}, bytes).words, 4) << "documents do not share words";
  EXPECT_EQ(size_of({"göl\xC2\xA0"
                     "ev\xE3\x80\x80"
                     "yol"},
                    bytes)
                .words,
            3)
      << "Unicode's spaces";
  EXPECT_EQ(size_of({"abcabc"}, bytes, 'b').new_tokens, 4) << "ids from 'b' on";
}

TEST(TextSize, DoesNotCutWordsWhereChunksEnd) {
  // Chunks have about 1 MiB, and end anywhere, because every byte is a token.
  const ByteTokenizer bytes;
  const std::string word(3'000'001, 'x');
  EXPECT_EQ(size_of({word + " " + word}, bytes).words, 2);
  std::string text;
  for (int i = 0; i < 500'000; ++i) {
    text += i % 3 == 0 ? "seven " : "go\n ";
  }
  const TextSize size = size_of({text}, bytes);
  EXPECT_EQ(size.words, 500'000);
  EXPECT_EQ(size.bytes, std::ssize(text));
  EXPECT_EQ(size.tokens, std::ssize(text));
}

TEST(TextSize, RefusesTextWithoutWordsAndOtherCharacters) {
  const ByteTokenizer bytes;
  EXPECT_TRUE(testing::names(input_error_of([&] { size_of({" \n"}, bytes); }), {"0.txt", "no words"}));
  const std::string_view documents[] = {"abc"};
  const auto letters = make_tokenizer("char", documents);
  EXPECT_TRUE(testing::names(input_error_of([&] { size_of({"abcd"}, *letters); }), {"0.txt", "3"}));
}

}  // namespace
}  // namespace dikkat
