#include "train/text/tokenizer_extender.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/bpe_trainer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

using testing::names;

/// Words whose endings follow rules, so that some parts are frequent.
std::string suffixed_text(int words, unsigned seed) {
  const std::vector<std::string> stems = {"ev", "göl", "kitap", "çocuk", "şehir", "yol", "öğretmen", "deniz"};
  const std::vector<std::string> endings = {"", "ler", "lerimiz", "lerimizden", "in", "de", "den", "ı", "lık"};
  std::mt19937 draw(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    text += stems[draw() % stems.size()];
    text += endings[draw() % endings.size()];
    text += i % 7 == 6 ? ".\n" : " ";
  }
  return text;
}

const std::string kOldText = [] {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "the lamp turns and the ships go by at night, the evening is in the den\n";
  }
  return text;
}();

/// Texts whose ids are compared: old and new ones, a mixture, numbers, spaces, and no letters.
std::vector<std::string> texts() {
  return {kOldText.substr(0, 200),  suffixed_text(200, 5), "the ev and göller  12345 evlerimizden\n\n\tthe kitap's", "", " ", "東京 evler",
          "<|endoftext|> and evler"};
}

std::unique_ptr<Tokenizer> old_tokenizer(Splitter splitter, index size = 300) {
  const std::string_view documents[] = {kOldText};
  return make_tokenizer({.kind = "bpe", .vocab_size = size, .splitter = splitter}, documents);
}

/// The same tokens and merges with the rule of GPT-4o, which only a PipelineTokenizer has. One added token is not special.
std::unique_ptr<Tokenizer> old_pipeline() {
  const auto old = old_tokenizer(Splitter::llama3);
  const auto& vocabulary = dynamic_cast<const BpeTokenizer&>(*old).vocabulary();
  std::vector<std::string> tokens;
  for (Token id = 0; id < std::ssize(vocabulary.bpe.tokens()); ++id) {
    tokens.push_back(vocabulary.text_of(id));
  }
  AddedTokens added = vocabulary.added_tokens;
  added.emplace(static_cast<Token>(vocabulary.size()), AddedToken{.name = "<call>", .special = false});
  return std::make_unique<PipelineTokenizer>(named_pipeline("gpt-4o", tokens, vocabulary.bpe.merges(), added, {}));
}

TokenizerExtension extend(const Tokenizer& old, index add, std::string_view text) {
  TokenizerExtender extender(old, add);
  extender.read(text);
  return extender.extend();
}

/// Replaces each new token by its pieces.
std::vector<Token> in_pieces(const std::vector<Token>& tokens, const TokenizerExtension& extension) {
  std::vector<Token> old;
  for (const Token token : tokens) {
    if (token < extension.first) {
      old.push_back(token);
    } else {
      const auto& pieces = extension.pieces[static_cast<std::size_t>(token - extension.first)];
      old.insert(old.end(), pieces.begin(), pieces.end());
    }
  }
  return old;
}

void expect_extends(const Tokenizer& old, index add) {
  const std::string corpus = suffixed_text(3000, 1);
  const TokenizerExtension extension = extend(old, add, corpus);
  const Tokenizer& now = *extension.tokenizer;
  ASSERT_EQ(extension.first, old.vocab_size());
  ASSERT_EQ(now.vocab_size(), old.vocab_size() + add);
  ASSERT_EQ(std::ssize(extension.pieces), add);
  EXPECT_EQ(now.special_tokens(), old.special_tokens());
  EXPECT_EQ(now.separator(), old.separator());
  for (Token id = 0; id < old.vocab_size(); ++id) {
    EXPECT_EQ(now.decode({&id, 1}), old.decode({&id, 1})) << id;
  }
  for (Token id = extension.first; id < now.vocab_size(); ++id) {  // a new token has the text of its pieces, two or more
    const auto& pieces = extension.pieces[static_cast<std::size_t>(id - extension.first)];
    EXPECT_GE(pieces.size(), 2U);
    EXPECT_EQ(now.decode({&id, 1}), old.decode(pieces)) << id;
  }
  for (const std::string& text : texts()) {
    const std::vector<Token> tokens = now.encode(text);
    EXPECT_EQ(in_pieces(tokens, extension), old.encode(text)) << text;
    EXPECT_EQ(now.decode(tokens), text);
    EXPECT_EQ(tokenizer_from_json(now.to_json())->encode(text), tokens) << text;
  }
  EXPECT_LT(std::ssize(now.encode(corpus)), std::ssize(old.encode(corpus)) * 2 / 3);
}

TEST(TokenizerExtender, ReplacesOldTokensOnlyByTheirSums) {
  for (const Splitter splitter : {Splitter::gpt2, Splitter::smollm, Splitter::llama3, Splitter::qwen2}) {
    SCOPED_TRACE(name_of(splitter));
    expect_extends(*old_tokenizer(splitter), 60);
  }
}

TEST(TokenizerExtender, ExtendsOtherByteLevelRules) {
  const auto old = old_pipeline();
  expect_extends(*old, 60);
  const TokenizerExtension extension = extend(*old, 60, suffixed_text(3000, 1));
  EXPECT_EQ(extension.tokenizer->encode("ev<call>"), old->encode("ev<call>")) << "an added token keeps its id";
}

TEST(TokenizerExtender, MayExtendTwice) {
  const auto old = old_tokenizer(Splitter::llama3);
  const TokenizerExtension once = extend(*old, 20, suffixed_text(3000, 1));
  expect_extends(*once.tokenizer, 30);
}

/// The definition: the pieces have their old tokens, and the most frequent pair is joined again and again.
TEST(TokenizerExtender, LearnsTheMostFrequentPairsOfOldTokens) {
  const auto old = old_tokenizer(Splitter::gpt2);
  const auto& tokenizer = dynamic_cast<const BpeTokenizer&>(*old);
  const std::string corpus = suffixed_text(800, 3);
  constexpr index kAdd = 25;
  std::vector<std::vector<Token>> pieces;
  tokenizer.for_pieces(corpus, [&](std::string_view piece) { tokenizer.bpe().encode(piece, pieces.emplace_back()); });
  std::vector<std::string> expected;
  std::map<Token, std::string> text;
  for (Token id = 0; id < old->vocab_size(); ++id) {
    text[id] = old->decode({&id, 1});
  }
  for (auto id = static_cast<Token>(old->vocab_size()); std::ssize(expected) < kAdd; ++id) {
    std::map<std::pair<Token, Token>, int> counts;
    for (const auto& piece : pieces) {
      for (std::size_t i = 0; i + 1 < piece.size(); ++i) {
        ++counts[{piece[i], piece[i + 1]}];
      }
    }
    const auto best = std::ranges::max_element(counts, [](const auto& a, const auto& b) {
                        return a.second != b.second ? a.second < b.second : a.first > b.first;
                      })->first;
    text[id] = text[best.first] + text[best.second];
    expected.push_back(text[id]);
    for (auto& piece : pieces) {
      std::vector<Token> joined;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        const bool is_pair = i + 1 < piece.size() && piece[i] == best.first && piece[i + 1] == best.second;
        joined.push_back(is_pair ? id : piece[i]);
        i += is_pair ? 1 : 0;
      }
      piece = joined;
    }
  }
  const TokenizerExtension extension = extend(*old, kAdd, corpus);
  std::vector<std::string> learned;
  for (Token id = extension.first; id < extension.tokenizer->vocab_size(); ++id) {
    learned.push_back(extension.tokenizer->decode({&id, 1}));
  }
  EXPECT_EQ(learned, expected);
}

TEST(TokenizerExtender, DoesNotDependOnHowTextsAreShared) {
  const auto old = old_tokenizer(Splitter::qwen2);
  const std::string first = suffixed_text(700, 1), second = suffixed_text(700, 2);
  TokenizerExtender all(*old, 40);
  all.read(second);
  const auto other = all.empty_copy();
  other->read(first);
  all.merge(*other);
  TokenizerExtender in_order(*old, 40);
  in_order.read(first);
  in_order.read(second);
  EXPECT_EQ(all.extend().tokenizer->to_json(), in_order.extend().tokenizer->to_json());
}

TEST(TokenizerExtender, HasFewerTokensIfTheTextHasNoMore) {
  const auto old = old_tokenizer(Splitter::gpt2);
  const TokenizerExtension extension = extend(*old, 1000, "xyxq xyxq");  // each of its three pairs is joined
  EXPECT_EQ(std::ssize(extension.pieces), 3);
  EXPECT_EQ(extension.tokenizer->vocab_size(), old->vocab_size() + std::ssize(extension.pieces));
}

TEST(TokenizerExtender, MakesNoTokenThatIsSpelledLikeAnAddedOne) {
  BpeVocabulary vocabulary{.bpe = train_bpe({}, 256), .added_tokens = {{256, {.name = "evler"}}}};
  const BpeTokenizer old(std::move(vocabulary));
  const TokenizerExtension extension = extend(old, 30, "evler evlerim evler evlerde evler");
  EXPECT_EQ(extension.tokenizer->decode(extension.tokenizer->encode("evler")), "evler");
  EXPECT_GT(extension.tokenizer->encode("evler").size(), 1U) << "the name of a special token is ordinary text";
}

TEST(TokenizerExtender, RefusesATextThatAddsNothing) {
  const auto old = old_tokenizer(Splitter::gpt2);
  EXPECT_TRUE(names(input_error_of([&] { extend(*old, 10, "xyz qw"); }), {"no pair"}));
  EXPECT_TRUE(names(input_error_of([&] { extend(*old, 10, "the the the"); }), {"no pair"}));
  // Here "ab" is a token that no merge makes, and the only frequent pair.
  std::vector<std::string> tokens = train_bpe({}, 256).tokens();
  tokens.emplace_back("ab");
  const BpeTokenizer complete(BpeVocabulary{.bpe = Bpe(std::move(tokens), {}, true), .splitter = Splitter::llama3});
  EXPECT_TRUE(names(input_error_of([&] { extend(complete, 10, "cab dab"); }), {"is a token already"}));
}

TEST(TokenizerExtender, RefusesOtherKindsByName) {
  const std::string_view documents[] = {kOldText};
  for (const char* const kind : {"byte", "char", "word", "symbols"}) {
    const auto other = make_tokenizer(kind, documents);
    EXPECT_TRUE(names(input_error_of([&] { TokenizerExtender(*other, 1); }), {kind})) << kind;
  }
}

}  // namespace
}  // namespace dikkat
