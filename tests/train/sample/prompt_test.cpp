#include "train/sample/prompt.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/sentence_piece.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

TEST(Prompt, ReadsNamesOfSpecialTokensAsTheseTokens) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const std::vector<Token> end = encode_prompt(tokenizer, "a</s>");
  EXPECT_EQ(end, (std::vector<Token>{1, 6, 2}));
  EXPECT_EQ(encode_prompt(tokenizer, "<s>a"), (std::vector<Token>{1, 6})) << "not twice";
  EXPECT_EQ(std::ranges::count(encode_prompt(tokenizer, "a</s>", SpecialNames::text), 2), 0);
  const ByteTokenizer bytes;
  EXPECT_EQ(encode_prompt(bytes, "a</s>"), bytes.encode("a</s>"));
}

TEST(Prompt, WithoutTextIsNotContinued) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  EXPECT_EQ(token_before_text(tokenizer, default_prompt(tokenizer)), std::nullopt);
  EXPECT_EQ(token_before_text(tokenizer, encode_prompt(tokenizer, "a b")), 7);
  EXPECT_EQ(token_before_text(tokenizer, {}), std::nullopt);
  const ByteTokenizer bytes;
  EXPECT_EQ(token_before_text(bytes, default_prompt(bytes)), '\n') << "a line break is a text";
}

}  // namespace
}  // namespace dikkat
