#include "train/grammar/token_grammar.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/support/shared_data.h"
#include "tests/train/grammar/support.h"
#include "train/grammar/json_grammar.h"
#include "train/grammar/json_schema.h"
#include "train/grammar/regex.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/bpe_files.h"
#include "train/text/hugging_face/symbols.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

constexpr Token kEnd = 50256;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The tokens that a constraint allows.
std::vector<Token> allowed(TokenConstraint& constraint, index vocab_size) {
  std::vector<float> logits(static_cast<std::size_t>(vocab_size), 1.0F);
  constraint.mask(logits);
  std::vector<Token> tokens;
  for (Token token = 0; token < vocab_size; ++token) {
    const float logit = logits[static_cast<std::size_t>(token)];
    EXPECT_TRUE(logit == 1 || logit == -std::numeric_limits<float>::infinity());
    if (logit == 1) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

class Gpt2Grammar : public ::testing::Test {
 protected:
  void SetUp() override {
    DIKKAT_NEEDS_SHARED_DATA("gpt2/vocab.bpe");
    static const BpeTokenizer tokenizer(from_gpt2_files(
        {.vocab_bpe = contents(shared_data("gpt2/vocab.bpe")), .encoder_json = contents(shared_data("gpt2/encoder.json"))}));
    static const auto trie = std::make_shared<const TokenTrie>(tokenizer);
    tokenizer_ = &tokenizer;
    trie_ = trie;
  }
  std::shared_ptr<const TokenGrammar> over(const Grammar& grammar) const {
    return std::make_shared<const TokenGrammar>(grammar, trie_, std::vector<Token>{kEnd});
  }

  /// The token of a single byte.
  Token token_of(char byte) const {
    for (const TokenTrie::Node& node : trie_->nodes()) {
      if (node.depth == 1 && node.byte == static_cast<std::uint8_t>(byte)) {
        return node.token;
      }
    }
    return -1;
  }

  const BpeTokenizer* tokenizer_ = nullptr;
  std::shared_ptr<const TokenTrie> trie_;
};

TEST_F(Gpt2Grammar, TheTreeHasAllTokensButSpecialOnes) {
  EXPECT_EQ(trie_->vocab_size(), 50257);
  EXPECT_TRUE(trie_->alphabet().characters.empty());
  EXPECT_TRUE(std::ranges::all_of(trie_->alphabet().bytes, [](bool has) { return has; }));
  EXPECT_TRUE(trie_->text(kEnd).empty());
  index count = 0;
  std::string path;
  for (std::size_t at = 0; at < trie_->nodes().size(); ++at) {
    const TokenTrie::Node& node = trie_->nodes()[at];
    path.resize(node.depth - std::size_t{1});
    path += static_cast<char>(node.byte);
    EXPECT_GT(node.after, static_cast<std::int32_t>(at));
    for (Token token = node.token; token >= 0; token = trie_->same_as(token)) {
      ASSERT_EQ(trie_->text(token), path);
      ASSERT_EQ(tokenizer_->decode(std::span(&token, 1)), path);
      ++count;
    }
  }
  EXPECT_EQ(count, 50256);
}

TEST_F(Gpt2Grammar, MasksAreThoseOfTheTexts) {
  const ordered_json schema = ordered_json::parse(
      R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "size": {"type": "integer", "minimum": 10, "maximum": 250}}, "required": ["name", "size"]})");
  const auto grammar = over(json_schema(schema));
  for (const char* begin : {"", "{", "{\"na", "{\"name\": \"", "{\"name\": \"abc", "{\"name\": \"\xF0\x9F",
                            "{\"name\": \"abcde\", \"size\": 2", "{\"name\": \"\", \"size\": 25"}) {
    const auto constraint = grammar->constraint();
    for (const char c : std::string(begin)) {
      constraint->accept(token_of(c));
    }
    std::vector<Token> expected;
    for (Token token = 0; token < kEnd; ++token) {
      if (grammar->can_continue(begin + trie_->text(token))) {
        expected.push_back(token);
      }
    }
    EXPECT_EQ(allowed(*constraint, 50300), expected) << begin;
  }
}

TEST_F(Gpt2Grammar, EndsWhereTheTextIsComplete) {
  const auto constraint = over(regex("ab?"))->constraint();
  const auto a = tokenizer_->encode("a"), b = tokenizer_->encode("b"), ab = tokenizer_->encode("ab");
  EXPECT_EQ(allowed(*constraint, 50257), (std::vector<Token>{a[0], ab[0]}));
  EXPECT_FALSE(constraint->is_complete());
  constraint->accept(a[0]);
  EXPECT_EQ(allowed(*constraint, 50257), (std::vector<Token>{b[0], kEnd}));
  EXPECT_FALSE(constraint->is_complete());
  constraint->accept(b[0]);
  EXPECT_EQ(allowed(*constraint, 50257), (std::vector<Token>{kEnd}));
  EXPECT_TRUE(constraint->is_complete());
  EXPECT_FALSE(testing::error_of([&] { constraint->accept(a[0]); }).empty());
  EXPECT_FALSE(testing::error_of([&] { constraint->accept(kEnd); }).empty());
}

TEST_F(Gpt2Grammar, ATokenThatEndsIsNeverPartOfTheText) {
  const Token end = tokenizer_->encode(" end")[0];
  const auto grammar = std::make_shared<const TokenGrammar>(regex("x?[a-z ]{4,9}"), trie_, std::vector<Token>{end});
  const auto constraint = grammar->constraint();
  std::vector<Token> tokens = allowed(*constraint, 50257);
  EXPECT_EQ(std::ranges::find(tokens, end), tokens.end());
  EXPECT_FALSE(testing::error_of([&] { constraint->accept(tokenizer_->encode("7")[0]); }).empty());
  EXPECT_EQ(allowed(*constraint, 50257), tokens) << "after a token that it refused";
  constraint->accept(tokenizer_->encode("word")[0]);
  tokens = allowed(*constraint, 50257);
  EXPECT_NE(std::ranges::find(tokens, end), tokens.end());
}

TEST_F(Gpt2Grammar, ThreadsShareAGrammar) {
  const Grammar grammar = json_value();
  std::vector<std::string> alone;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Dice dice(seed);
    alone.push_back(random_walk(*over(grammar), *trie_, dice, 60).first);
  }
  const auto shared_grammar = over(grammar);
  std::vector<std::string> together(4);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&, seed] {
        Dice dice(seed);
        together[seed] = random_walk(*shared_grammar, *trie_, dice, 60).first;
      });
    }
  }
  EXPECT_EQ(together, alone);
}

TEST_F(Gpt2Grammar, MemoryIsBounded) {
  // Every nested list is a state of its own.
  const auto grammar = over(json_value());
  const auto constraint = grammar->constraint();
  const Token open = tokenizer_->encode("[")[0];
  std::vector<float> logits(50257);
  std::size_t most = 0;
  for (int i = 0; i < 6000; ++i) {
    constraint->accept(open);
    constraint->mask(logits);
    most = std::max(most, grammar->memory());
  }
  EXPECT_LE(most, std::size_t{32} << 20);
  EXPECT_GE(most, std::size_t{8} << 20) << "the limit has been reached, and states were dropped";
  const Token close = tokenizer_->encode("]")[0];
  for (int i = 0; i < 6000; ++i) {
    EXPECT_FALSE(constraint->is_complete());
    constraint->accept(close);
  }
  EXPECT_TRUE(constraint->is_complete());
}

/// A pattern of which long texts have thousands of readings.
std::string many_readings() {
  std::string pattern;
  for (int i = 0; i < 30; ++i) {
    pattern += ".*.{0,300}";
  }
  return pattern;
}

TEST_F(Gpt2Grammar, ManyReadingsAreRefused) {
  input_error_of([&] { over(regex(many_readings())); });
}

TEST_F(Gpt2Grammar, ManyReadingsOfRareTextsAllowShortTokens) {
  // Only after an unlikely beginning are there many readings.
  const auto grammar = over(regex(concat("(?:[^q]{9}|qqqqqqq", many_readings(), ";)")));
  const auto constraint = grammar->constraint();
  const Token q = tokenizer_->encode("q")[0];
  for (int i = 0; i < 10; ++i) {
    constraint->accept(q);
  }
  const std::vector<Token> tokens = allowed(*constraint, 50257);
  EXPECT_GE(tokens.size(), 100U);
  for (const Token token : tokens) {
    EXPECT_EQ(trie_->text(token).size(), 1U);
  }
  constraint->accept(tokenizer_->encode(";")[0]);
  EXPECT_EQ(allowed(*constraint, 50257).back(), kEnd);
}

TEST(TokenGrammar, AVocabularyOfCharactersWritesOnlyTheseCharacters) {
  const std::string_view text = "{}\"abcé:,0 ";
  const auto tokenizer = make_tokenizer("char", std::span(&text, 1));
  const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
  EXPECT_EQ(trie->alphabet().characters.size(), 11U);
  const auto over = [&](const Grammar& grammar) { return std::make_shared<const TokenGrammar>(grammar, trie, std::vector<Token>{}); };
  const auto value = over(json_value());
  EXPECT_TRUE(value->matches("{\"abé\": 0}"));
  EXPECT_FALSE(value->can_continue("["));
  EXPECT_FALSE(value->can_continue("n"));
  EXPECT_FALSE(value->can_continue("\"d"));
  EXPECT_FALSE(value->can_continue("\"\\"));
  Dice dice(1);
  for (int i = 0; i < 20; ++i) {
    const auto [walk, is_complete] = random_walk(*value, *trie, dice);
    EXPECT_TRUE(is_complete && nlohmann::json::accept(walk)) << walk;
  }
  input_error_of([&] { over(literal("abd")); });
  input_error_of([&] { over(json_schema(ordered_json::parse(R"({"type": "array"})"))); });
  input_error_of([&] { over(json_schema(ordered_json::parse(R"({"properties": {"z": {}}, "required": ["z"]})"))); });
  EXPECT_FALSE(over(json_schema(ordered_json::parse(R"({"properties": {"z": {}, "a": {}}})")))->can_continue("{\"z"));
}

/// A vocabulary of given strings, a line break, and the end of a text.
class NamedTokens {
 public:
  NamedTokens(std::vector<std::string> symbols, SymbolSplit split)
      : tokenizer_(symbol_pipeline(completed(std::move(symbols)), split)), end_(static_cast<Token>(tokenizer_.vocab_size()) - 1) {}

  std::shared_ptr<const TokenGrammar> over(const std::string& pattern) const {
    return std::make_shared<const TokenGrammar>(regex(pattern), trie_, std::vector<Token>{end_});
  }
  /// The text of the tokens that are allowed after some others: "e4,e5,\n,END".
  std::string after(const std::string& pattern, const std::vector<Token>& tokens) const {
    const auto constraint = over(pattern)->constraint();
    for (const Token token : tokens) {
      constraint->accept(token);
    }
    std::string list;
    for (const Token token : allowed(*constraint, tokenizer_.vocab_size())) {
      list += concat(list.empty() ? "" : ",", token == end_ ? "END" : tokenizer_.decode(std::span(&token, 1)));
    }
    return constraint->is_complete() ? "complete" : list;
  }
  /// Draws any allowed token until nothing can follow, or 40. Returns the text that the tokens have together.
  std::string walk(const TokenGrammar& grammar, Dice& dice) const {
    const auto constraint = grammar.constraint();
    std::vector<Token> tokens;
    for (int i = 0; i < 40 && !constraint->is_complete(); ++i) {
      const std::vector<Token> next = allowed(*constraint, tokenizer_.vocab_size());
      EXPECT_FALSE(next.empty()) << tokenizer_.decode(tokens);
      const Token token = next[static_cast<std::size_t>(dice.roll(std::ssize(next)))];
      EXPECT_EQ(next.back() == end_, grammar.matches(tokenizer_.decode(tokens)));
      if (token == end_) {
        break;
      }
      constraint->accept(token);
      tokens.push_back(token);
    }
    return tokenizer_.decode(tokens);
  }

 private:
  PipelineTokenizer tokenizer_;
  Token end_;
  std::shared_ptr<const TokenTrie> trie_ = std::make_shared<const TokenTrie>(tokenizer_);
};

TEST(TokenGrammar, WordsHaveSpacesBetweenThem) {
  const NamedTokens chess({"e4", "e5", "Nf3", "x"}, SymbolSplit::spaces);  // a line break is 4
  const std::string pattern = "e4 (e5|Nf3)(\n(e4|x y))?";
  EXPECT_EQ(chess.after(pattern, {}), "e4");
  EXPECT_EQ(chess.after(pattern, {0}), "e5,Nf3");
  EXPECT_EQ(chess.after(pattern, {0, 1}), "\n,END");
  EXPECT_EQ(chess.after(pattern, {0, 1, 4}), "e4") << "without a space, and there is no y to end what begins with x";
  EXPECT_EQ(chess.after(pattern, {0, 1, 4, 0}), "complete");
  EXPECT_EQ(chess.after("(e4|e5)( d4)?", {0}), "complete") << "no token writes what could follow";
  EXPECT_EQ(chess.after("\n( e4|e5)", {4}), "e5");
  EXPECT_EQ(chess.after("e4 \n|e5", {}), "e5");
  EXPECT_FALSE(testing::error_of([&] { chess.over("e4e5|e4 x")->constraint()->accept(1); }).empty());
}

TEST(TokenGrammar, NoTokenLeadsWhereNoneCanFollow) {
  const NamedTokens codons({"ATG", "TAA", "A", "GG"}, SymbolSplit::longest);
  EXPECT_EQ(codons.after("(ATG)+TAA", {}), "ATG") << "no T follows A";
  EXPECT_EQ(codons.after("(ATG)+TAA", {0}), "ATG,TAA");
  EXPECT_EQ(codons.after("A{4}TG|GG(A|G)*C", {}), "A");
  EXPECT_EQ(codons.after("A{4}TG|GG(A|G)*C", {2, 2}), "A");
  EXPECT_EQ(codons.after("A{4}TG|GG(A|G)*C", {2, 2, 2}), "ATG");
  const NamedTokens chess({"e4", "e5", "Nf3", "x"}, SymbolSplit::spaces);
  Dice dice(1);
  for (const auto& [tokens, pattern] : {std::pair{&codons, "(A|G|T){3,20}C?"},
                                        {&codons, "([AG]{2}|TA{1,3}){0,9}"},
                                        {&codons, ".*TA.{0,2}"},
                                        {&codons, "(?:GGG|A)*\n"},
                                        {&chess, "((e4|e5 x|x y) ?){1,7}"},
                                        {&chess, "([a-h][1-8]|N..|\n| )+"},
                                        {&chess, "[^x]{2,19}"}}) {
    SCOPED_TRACE(pattern);
    const auto grammar = tokens->over(pattern);
    for (int i = 0; i < 30; ++i) {
      EXPECT_TRUE(grammar->can_continue(tokens->walk(*grammar, dice)));
    }
  }
}

TEST(TokenGrammar, TokensThatCannotWriteAnyTextAreRefusedByTheirPlace) {
  const NamedTokens chess({"e4", "e5", "Nf3", "x"}, SymbolSplit::spaces);
  const auto refused = [&](const std::string& pattern, const std::vector<std::string>& names) {
    EXPECT_TRUE(testing::names(input_error_of([&] { chess.over(pattern); }), names)) << pattern;
  };
  refused("d4", {"byte 0"});
  refused("(d4)?", {"byte 0"});
  refused(" e4", {"byte 0"});
  EXPECT_EQ(chess.after("e4 d4|e5", {}), "e5");
  refused("e4 d4|e4 x [^x]", {"byte 4", "\"e4 x\""});
  refused("e4 ", {"byte 2", "\"e4\""});
  refused("(e4 )*d5", {"no text"});
  refused("e4( e5){10000}", {});
  EXPECT_EQ(chess.after("e4( e5){9000}", {0}), "e5") << "which is not too long to be searched for";
}

TEST(TokenGrammar, LooksAheadInNestedTexts) {
  std::vector<std::string> symbols{"éé"};  // its character is not a token, so not every beginning can be completed
  for (char c = ' '; c <= '~'; ++c) {
    symbols.emplace_back(1, c);
  }
  const PipelineTokenizer tokenizer(symbol_pipeline(completed(symbols), SymbolSplit::longest));
  const auto trie = std::make_shared<const TokenTrie>(tokenizer);
  ASSERT_FALSE(trie->is_complete());
  const auto grammar = std::make_shared<const TokenGrammar>(json_value(), trie, std::vector<Token>{});
  Dice dice(3);
  for (int i = 0; i < 5; ++i) {
    const auto [walk, is_complete] = random_walk(*grammar, *trie, dice, 200);
    EXPECT_TRUE(!is_complete || nlohmann::json::accept(walk)) << walk;
  }
  // Lists are nested only as deep as the search for their end reaches.
  const auto constraint = grammar->constraint();
  const Token open = 1 + '[' - ' ', close = 1 + ']' - ' ';
  int depth = 0;
  for (std::vector<Token> next = allowed(*constraint, tokenizer.vocab_size()); std::ranges::find(next, open) != next.end();
       next = allowed(*constraint, tokenizer.vocab_size())) {
    constraint->accept(open);
    ASSERT_LE(++depth, 1000);
  }
  EXPECT_GE(depth, 2);
  for (; depth > 0; --depth) {
    const std::vector<Token> next = allowed(*constraint, tokenizer.vocab_size());
    ASSERT_NE(std::ranges::find(next, close), next.end()) << depth;
    constraint->accept(close);
  }
  EXPECT_TRUE(constraint->is_complete());
}

TEST(TokenGrammar, AVocabularyOfWordsWritesThem) {
  const std::string_view text = "some words and some more";
  const auto tokenizer = make_tokenizer("word", std::span(&text, 1));
  const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
  const auto grammar = std::make_shared<const TokenGrammar>(regex("some (words|mo.*)( and [a-z ]*s)?"), trie, std::vector<Token>{});
  Dice dice(1);
  for (int i = 0; i < 20; ++i) {
    const auto constraint = grammar->constraint();
    std::vector<Token> tokens;
    while (!constraint->is_complete() && tokens.size() < 30) {
      const std::vector<Token> next = allowed(*constraint, tokenizer->vocab_size());
      tokens.push_back(next[static_cast<std::size_t>(dice.roll(std::ssize(next)))]);
      constraint->accept(tokens.back());
    }
    EXPECT_TRUE(grammar->can_continue(tokenizer->decode(tokens)));
  }
}

}  // namespace
}  // namespace dikkat
