#include "train/text/hugging_face/bpe_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/read_hugging_face_json.h"
#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {
namespace {

using testing::names;

using nlohmann::json;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The hash of the ids as nanoGPT writes them to a file.
std::string sha256_u16le(const std::vector<Token>& tokens) {
  std::vector<unsigned char> bytes;
  for (const Token token : tokens) {
    bytes.push_back(static_cast<unsigned char>(token & 0xFF));
    bytes.push_back(static_cast<unsigned char>(token >> 8));
  }
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(bytes.data(), bytes.size(), hash);
  std::string hex;
  for (const unsigned char byte : hash) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 0xF];
  }
  return hex;
}

BpeTokenizer learned_from(std::string_view text, index vocab_size) {
  const auto made = make_tokenizer({.kind = "bpe", .vocab_size = vocab_size}, std::span(&text, 1));
  return std::move(dynamic_cast<BpeTokenizer&>(*made));
}

BpeTokenizer small() { return learned_from("the cat and the hat, the rat and that", 264); }

/// tests/golden/tokenizer: a vocabulary of 1,500 tokens, and ids by another program's encoder.
class GoldenBpe : public ::testing::Test {
 protected:
  static std::filesystem::path path(const std::string& name) {
    return std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/golden/tokenizer" / name;
  }
  const json golden_ = json::parse(contents(path("golden.json")));
  const std::unique_ptr<Tokenizer> tokenizers_[2] = {read_tokenizer_file(path("tokenizer.json").string()),
                                                     read_tokenizer_file(path("vocab.bpe").string())};
};

TEST_F(GoldenBpe, Cases) {
  ASSERT_GE(golden_["cases"].size(), 40U);
  for (const auto& tokenizer : tokenizers_) {
    EXPECT_EQ(tokenizer->vocab_size(), 1500);
    for (const json& c : golden_["cases"]) {
      const auto text = c["text"].get<std::string>();
      EXPECT_EQ(tokenizer->encode(text), c["ids"].get<std::vector<Token>>()) << c["text"];
      EXPECT_EQ(tokenizer->decode(c["ids"].get<std::vector<Token>>()), text);
    }
  }
}

TEST_F(GoldenBpe, TextsInManyScripts) {
  ASSERT_GE(golden_["files"].size(), 15U);
  for (const auto& tokenizer : tokenizers_) {
    for (const auto& [name, ids] : golden_["files"].items()) {
      const std::string text = contents(path("texts/" + name));
      EXPECT_EQ(tokenizer->encode(text), ids.get<std::vector<Token>>()) << name;
      EXPECT_EQ(tokenizer->decode(ids.get<std::vector<Token>>()), text) << name;
    }
  }
}

TEST_F(GoldenBpe, FilesAreWrittenAsTheyWereRead) {
  const auto& tokenizer = dynamic_cast<const BpeTokenizer&>(*tokenizers_[0]);
  const Gpt2Files written = gpt2_files(tokenizer.vocabulary());
  EXPECT_EQ(written.vocab_bpe, contents(path("vocab.bpe")));
  EXPECT_EQ(written.encoder_json, contents(path("encoder.json")));
  EXPECT_EQ(tokenizer.to_json(), contents(path("tokenizer.json")));
}

class Gpt2 : public ::testing::Test {
 protected:
  void SetUp() override {
    DIKKAT_NEEDS_SHARED_DATA("gpt2/golden_gpt2.json");
    files_ = {.vocab_bpe = contents(shared_data("gpt2/vocab.bpe")), .encoder_json = contents(shared_data("gpt2/encoder.json"))};
    tokenizer_ = std::make_unique<BpeTokenizer>(from_gpt2_files(files_));
    golden_ = json::parse(contents(shared_data("gpt2/golden_gpt2.json")));
  }
  Gpt2Files files_;
  std::unique_ptr<BpeTokenizer> tokenizer_;
  json golden_;
};

TEST_F(Gpt2, HasItsTokens) {
  EXPECT_EQ(tokenizer_->vocab_size(), 50257);
  EXPECT_EQ(tokenizer_->separator(), 50256);
  EXPECT_EQ(tokenizer_->bpe().merges().size(), 50000U);
  EXPECT_EQ(tokenizer_->encode("Hello world"), (std::vector<Token>{15496, 995}));
  EXPECT_EQ(tokenizer_->decode(std::vector<Token>{15496, 995, 50256}), "Hello world<|endoftext|>");
  EXPECT_EQ(tokenizer_->encode("<|endoftext|>"), (std::vector<Token>{27, 91, 437, 1659, 5239, 91, 29})) << "ordinary text";
  EXPECT_TRUE(tokenizer_->suppressed_tokens().empty());
}

TEST_F(Gpt2, GoldenCases) {
  ASSERT_GE(golden_["cases"].size(), 40U);
  for (const json& c : golden_["cases"]) {
    const auto text = c["text"].get<std::string>();
    const std::vector<Token> tokens = tokenizer_->encode(text);
    if (c.contains("ids")) {
      EXPECT_EQ(tokens, c["ids"].get<std::vector<Token>>()) << c["text"];
    } else {  // a long one
      EXPECT_EQ(tokens.size(), c["n"].get<std::size_t>()) << c["text"];
      EXPECT_EQ(sha256_u16le(tokens), c["sha256_u16le"].get<std::string>()) << c["text"];
    }
    EXPECT_EQ(tokenizer_->decode(tokens), text);
  }
}

TEST_F(Gpt2, GoldenFiles) {
  for (const auto& [name, facts] : golden_["files"].items()) {
    const std::string text = contents(shared_data(name));
    const std::vector<Token> tokens = tokenizer_->encode(text);
    EXPECT_EQ(tokens.size(), facts["tokens"].get<std::size_t>()) << name;
    EXPECT_EQ(sha256_u16le(tokens), facts["sha256_u16le"].get<std::string>()) << name;
    EXPECT_TRUE(tokenizer_->decode(tokens) == text) << name;
  }
}

TEST_F(Gpt2, IsTheSameFromEveryFile) {
  const std::string text = "Turkish: \u0130stanbul'da \u0131\u015F\u0131k; code: if (x >= 10) {\n\t\treturn;\n}\n";
  const auto tokens = tokenizer_->encode(text);
  const auto again = tokenizer_from_json(tokenizer_->to_json());
  EXPECT_EQ(again->vocab_size(), 50257);
  EXPECT_EQ(again->encode(text), tokens);
  EXPECT_EQ(again->separator(), 50256);
  EXPECT_EQ(again->to_json(), tokenizer_->to_json());

  const Gpt2Files written = gpt2_files(tokenizer_->vocabulary());
  EXPECT_TRUE(written.vocab_bpe == files_.vocab_bpe) << "byte for byte";
  EXPECT_EQ(json::parse(written.encoder_json), json::parse(files_.encoder_json));
}

TEST_F(Gpt2, NoLineIsTooLong) {
  for (const char* unit : {"a", " ", "\n", "!", "\u3042", "1", "ab", "'", "\xF0\x9F\x98\x80"}) {
    std::string text;
    while (text.size() < 300'000) {
      text += unit;
    }
    EXPECT_TRUE(tokenizer_->decode(tokenizer_->encode(text)) == text) << unit;
  }
}

TEST(BpeFiles, ComeBack) {
  const BpeTokenizer tokenizer = small();
  const std::string text = "that hat \u3042\n\n  xyz ";
  for (const BpeTokenizer& again : {BpeTokenizer(from_gpt2_files(gpt2_files(tokenizer.vocabulary()))),
                                    BpeTokenizer(from_hugging_face_json(hugging_face_json(tokenizer.vocabulary())))}) {
    EXPECT_EQ(again.bpe().tokens(), tokenizer.bpe().tokens());
    EXPECT_EQ(again.bpe().merges(), tokenizer.bpe().merges());
    EXPECT_EQ(again.vocabulary().added_tokens, tokenizer.vocabulary().added_tokens);
    EXPECT_EQ(again.encode(text), tokenizer.encode(text));
  }
}

TEST(Gpt2Files, RefusesDamage) {
  const Gpt2Files good = gpt2_files(small().vocabulary());
  const auto error_with = [&](const std::string& vocab_bpe, const std::string& encoder_json) {
    return input_error_of([&] { from_gpt2_files({.vocab_bpe = vocab_bpe, .encoder_json = encoder_json}); });
  };
  EXPECT_TRUE(names(error_with("", good.encoder_json), {"merges", "empty"}));
  EXPECT_TRUE(names(error_with("#version: 0.2\na b c\n", good.encoder_json), {"merge 0", "\"a b c\""}));
  EXPECT_TRUE(names(error_with(good.vocab_bpe, "[]"), {"array", "object"}));
  EXPECT_TRUE(names(error_with(good.vocab_bpe, "{}"), {"vocabulary", "object"}));
  std::string windows;
  for (const char c : good.vocab_bpe) {
    windows.append(c == '\n' ? 1 : 0, '\r');
    windows.append(1, c);
  }
  EXPECT_EQ(BpeTokenizer(from_gpt2_files({.vocab_bpe = windows, .encoder_json = good.encoder_json})).to_json(), small().to_json());
}

TEST(Gpt2Files, AreForGpt2sRulesOnly) {
  const std::string_view text = "the cat and the hat";
  for (const Splitter splitter : {Splitter::smollm, Splitter::llama3, Splitter::qwen2}) {
    const auto made = make_tokenizer({.kind = "bpe", .vocab_size = 260, .splitter = splitter}, std::span(&text, 1));
    const BpeVocabulary& vocabulary = dynamic_cast<BpeTokenizer&>(*made).vocabulary();
    EXPECT_FALSE(has_gpt2_rules(vocabulary));
    EXPECT_TRUE(names(input_error_of([&] { gpt2_files(vocabulary); }), {"GPT-2", std::string(name_of(splitter)), "tokenizer.json"}));
  }
}

TEST(Gpt2Files, RefusesMergesThatWereCutOff) {
  Gpt2Files cut = gpt2_files(small().vocabulary());
  cut.vocab_bpe.resize(cut.vocab_bpe.find('\n', cut.vocab_bpe.size() / 2) + 1);
  const std::string error = input_error_of([&] { from_gpt2_files(cut); });
  EXPECT_TRUE(names(error, {"no merge", "cut off"}));
}

TEST(BpeTokenizer, EncodesTextsThatItWasNotLearnedFrom) {
  const BpeTokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.kind(), "bpe");
  EXPECT_EQ(tokenizer.vocab_size(), 264);
  EXPECT_EQ(tokenizer.separator(), 263);
  EXPECT_EQ(tokenizer.encode("").size(), 0U);
  EXPECT_LT(tokenizer.encode(" the").size(), 3U);
  std::string every;
  for (char32_t c = 0; c < 0x3000; ++c) {
    if (c < 0x80) {
      every += static_cast<char>(c);
    } else if (c < 0x800) {
      every += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      every += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  EXPECT_TRUE(tokenizer.decode(tokenizer.encode(every)) == every);
  EXPECT_TRUE(names(input_error_of([&] { tokenizer.encode("ab\xFF"); }), {"byte 2", "UTF-8", "0xFF"}));
}

TEST(BpeTokenizer, VocabularySizes) {
  EXPECT_EQ(learned_from("abc abd", 257).vocab_size(), 257);
  EXPECT_EQ(learned_from("abc abd", 100000).vocab_size(), 258) << "the text has one pair that occurs twice";
  EXPECT_TRUE(names(input_error_of([] { learned_from("abc", 256); }), {"tokenizer.vocab_size", "256", "257", "16777216", "\"bpe\""}));
  EXPECT_TRUE(names(input_error_of([] { learned_from("", 300); }), {"no text", "merges"}));
}

// Only what an export of a character tokenizer writes is one: BPE without merges may have other tokens, ids and rules.
TEST(TokenizerFile, IsOfCharactersOnlyIfAllTokensAre) {
  const TemporaryFolder to;
  const auto read = [&](const nlohmann::json& vocabulary, const nlohmann::json& unknown = nullptr) {
    const nlohmann::json file = {
        {"version", "1.0"},
        {"added_tokens", nlohmann::json::array()},
        {"normalizer", nullptr},
        {"pre_tokenizer", nullptr},
        {"decoder", {{"type", "Fuse"}}},
        {"model", {{"type", "BPE"}, {"unk_token", unknown}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
    return read_tokenizer_file(to.write("tokenizer.json", file.dump()));
  };
  EXPECT_EQ(read({{"a", 0}, {"b", 1}, {"\u00E9", 2}})->kind(), "char");
  using Ids = std::vector<Token>;
  const auto words = read({{"a", 0}, {"ab", 1}, {"b", 2}});
  EXPECT_EQ(words->kind(), "bpe");
  EXPECT_EQ(words->encode("ab"), (Ids{0, 2}));
  EXPECT_EQ(read({{"b", 0}, {"a", 1}})->encode("ab"), (Ids{1, 0}));
  EXPECT_EQ(read({{"?", 0}, {"a", 1}}, "?")->encode("xa"), (Ids{0, 1}));
}

TEST(TokenizerFile, AGgufFileIsNone) {
  const TemporaryFolder to;
  EXPECT_TRUE(names(input_error_of([&] { read_tokenizer_file(to.write("x.gguf", std::string("GGUF\3\0\0\0", 8))); }),
                    {"x.gguf", "GGUF", "tokenizer.json", "dikkat export"}));
}

}  // namespace
}  // namespace dikkat
