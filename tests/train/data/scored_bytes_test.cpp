#include <gtest/gtest.h>

#include "train/data/examples/conversations.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/token_bytes.h"
#include "train/text/word_tokenizer.h"

// Bits per byte must not depend on the name of a special token.
namespace dikkat {
namespace {

/// A byte is a token; special tokens with these names follow.
BpeVocabulary vocabulary_of_bytes_and(const std::vector<std::string>& names) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  BpeVocabulary vocabulary{.bpe = Bpe(std::move(tokens), {})};
  for (const std::string& name : names) {
    vocabulary.added_tokens[static_cast<Token>(256 + vocabulary.added_tokens.size())] = {.name = name};
  }
  return vocabulary;
}
BpeTokenizer bytes_and(const std::vector<std::string>& names) { return BpeTokenizer(vocabulary_of_bytes_and(names)); }

TEST(TokenBytes, OfASpecialTokenAreNone) {
  const TokenBytes bytes(bytes_and({"<e>", "<|a long name|>"}));
  EXPECT_EQ(bytes.of('a'), 1);
  EXPECT_EQ(bytes.of(256), 0);
  EXPECT_EQ(bytes.of(257), 0);
  EXPECT_EQ(bytes.of(std::vector<Token>{'a', 'b', 257, 'c'}), 3);
}

TEST(TokenBytes, OfMarksAroundASequenceAreNone) {
  const WordTokenizer words({"a", "lamp"});
  const TokenBytes bytes(words);
  const SequenceTokens marks = *words.sequence_tokens();
  EXPECT_EQ(bytes.of(std::vector<Token>{marks.pad, marks.start, marks.end}), 0);
  EXPECT_EQ(bytes.of(words.encode("a lamp")), 5);
}

TEST(TokenBytes, OfASeparatorAreNoneEvenIfItIsNotMarkedAsSpecial) {
  for (const bool separates : {false, true}) {
    BpeVocabulary vocabulary = vocabulary_of_bytes_and({"<e>"});
    vocabulary.added_tokens[256].special = false;
    if (separates) {
      vocabulary.text_tokens.eos = 256;
    }
    EXPECT_EQ(TokenBytes(BpeTokenizer(std::move(vocabulary))).of(256), separates ? 0 : 3);
  }
}

TEST(TokenBytes, OfScoredAnswersAreThoseOfTheirText) {
  ConversationCorpus corpus;
  corpus.examples.push_back({.messages = {{"user", "Hi"}, {"assistant", "Yes?"}, {"user", "2+2"}, {"assistant", "4"}}});
  corpus.places.emplace_back("here");
  for (const std::string end : {"<e>", "<|endoftext|>", "<|the end of everything that there was to say|>"}) {
    const auto tokenizer = bytes_and({end});
    const ChatTemplate form(
        TemplateName::own,
        "{% for m in messages %}{{ m.role }}:{{ m.content }}" + end + "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
        tokenizer);
    const ConversationStore store(corpus, 0, 1, tokenizer, form, ScoredText::answers, 1000);
    EXPECT_EQ(store.target_weight(0), 7) << "five letters and two ends";
    EXPECT_EQ(store.scored_bytes(), 5) << end;
  }
}

}  // namespace
}  // namespace dikkat
