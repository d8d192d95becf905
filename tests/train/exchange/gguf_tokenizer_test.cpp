#include "train/exchange/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/formats/gguf_writer.h"
#include "train/system/json.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_level.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/pre_tokenizer.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/utf8.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

std::vector<std::string> texts_of(const std::vector<MetaEntry>& metadata, std::string_view key) {
  for (const MetaEntry& entry : metadata) {
    if (entry.key == key) {
      const auto strings = entry.value.array()->strings();
      return {strings->begin(), strings->end()};
    }
  }
  return {};
}

WeightFile file_of(const TemporaryFolder& to, const std::vector<MetaEntry>& metadata) {
  const std::string path = to / "tokenizer.gguf";
  std::filesystem::remove(path);
  write_gguf(path, metadata, {});
  return open_weights(path);
}

WeightFile file_with(const TemporaryFolder& to, const std::vector<std::string>& tokens) {
  const std::vector<std::int32_t> types(tokens.size(), 1);
  return file_of(to, {{"tokenizer.ggml.model", MetaValue("rwkv")},
                      {"tokenizer.ggml.tokens", MetaValue(std::span<const std::string>(tokens))},
                      {"tokenizer.ggml.token_type", MetaValue(std::span<const std::int32_t>(types))}});
}

TEST(GgufTokenizer, WritesCharactersSoThatTheyCanBeSeen) {
  std::vector<MetaEntry> metadata;
  add_gguf_tokenizer(CharTokenizer(std::u32string(U"\0\n \\a\u007f\u00e9", 7)), 9, metadata);
  EXPECT_EQ(texts_of(metadata, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"\\x00", "\\x0a", " ", "\\x5c", "a", "\\x7f", "\u00e9", "\\xff[PAD7]", "\\xff[PAD8]"}));
}

TEST(GgufTokenizer, ReadsItsOwnFiles) {
  const TemporaryFolder to;
  for (const index padding : {0, 3}) {
    const CharTokenizer characters(std::u32string(U"\0\n \\ax\u007f\u00e9", 8));
    std::vector<MetaEntry> metadata;
    add_gguf_tokenizer(characters, characters.vocab_size() + padding, metadata);
    EXPECT_EQ(read_gguf_tokenizer(file_of(to, metadata))->to_json(), characters.to_json());
    metadata.clear();
    add_gguf_tokenizer(ByteTokenizer(), 256 + padding, metadata);
    EXPECT_EQ(read_gguf_tokenizer(file_of(to, metadata))->to_json(), ByteTokenizer().to_json());
  }
}

TEST(GgufTokenizer, ReadsTheEscapesOfOtherWriters) {
  const TemporaryFolder to;
  EXPECT_EQ(read_gguf_tokenizer(file_with(to, {"\\t", "\\n", "\\r", "\\'", "\\\\"}))->to_json(), CharTokenizer(U"\t\n\r'\\").to_json());
}

TEST(GgufTokenizer, RefusesOtherVocabulariesOfThisKind) {
  const TemporaryFolder to;
  const auto refusal = [&](const std::vector<std::string>& tokens) {
    return error_of([&] { read_gguf_tokenizer(file_with(to, tokens)); });
  };
  EXPECT_TRUE(names(refusal({"a", "bc", "a"}), {"token 2", "token 0", "\"a\"", "--tokenizer PATH"}));
  EXPECT_TRUE(names(refusal({"a", "\\x4"}), {"token 1"}));
  EXPECT_TRUE(names(refusal({"a", "\\"}), {"token 1"}));
  EXPECT_TRUE(names(refusal({"a", ""}), {"token 1"}));
  EXPECT_TRUE(names(refusal({"a", "\\xe9"}), {"token 1"}));
  EXPECT_TRUE(names(refusal({}), {"symbols", "one"}));
}

TEST(GgufTokenizer, SymbolsAreTheLongestTokensIfNothingIsBetweenThem) {
  const TemporaryFolder to;
  for (const auto& symbols : {std::vector<std::string>{"Cl", "C", "\\", " a"}, {"b", "a", "ab"}}) {
    const PipelineTokenizer tokenizer(symbol_pipeline(completed(symbols), SymbolSplit::longest));
    std::vector<MetaEntry> metadata;
    const std::vector<std::string> notes = add_gguf_tokenizer(tokenizer, tokenizer.vocab_size() + 2, metadata);
    EXPECT_EQ(read_gguf_tokenizer(file_of(to, metadata))->to_json(), tokenizer.to_json());
    EXPECT_EQ(texts_of(metadata, "tokenizer.ggml.tokens")[static_cast<std::size_t>(*tokenizer.separator())], "\\xff<|endoftext|>");
    EXPECT_EQ(notes.size(), symbols[0] == "Cl" ? 1U : 0U) << "no symbol is only the space of \" a\"";
  }
  std::vector<MetaEntry> none;
  const PipelineTokenizer spaced(symbol_pipeline({"e4", "e5"}, SymbolSplit::spaces));
  EXPECT_TRUE(names(error_of([&] { add_gguf_tokenizer(spaced, 2, none); }), {"GGUF", "\"symbols\"", "--split longest"}));
  EXPECT_TRUE(names(error_of([&] { add_gguf_tokenizer(WordTokenizer({"a"}), 5, none); }), {"GGUF", "\"word\""}));
  EXPECT_TRUE(none.empty());
}

/// Byte-level BPE without merges: the bytes, and two added tokens, 256 and 257.
WeightFile bpe_file(const TemporaryFolder& to, const char* pre, std::vector<MetaEntry> more) {
  std::vector<std::string> tokens;
  for (const unsigned char byte : byte_level::kOrder) {
    tokens.push_back(byte_level::to_text(std::string(1, static_cast<char>(byte))));
  }
  tokens.insert(tokens.end(), {"<s>", "</s>"});
  std::vector<std::int32_t> types(tokens.size(), 1);
  types[256] = types[257] = 3;
  more.insert(more.end(), {{"tokenizer.ggml.model", MetaValue("gpt2")},
                           {"tokenizer.ggml.pre", MetaValue(pre)},
                           {"tokenizer.ggml.tokens", MetaValue(std::span<const std::string>(tokens))},
                           {"tokenizer.ggml.token_type", MetaValue(std::span<const std::int32_t>(types))},
                           {"tokenizer.ggml.merges", MetaValue(std::span<const std::string>())},
                           {"tokenizer.ggml.bos_token_id", MetaValue(256U)},
                           {"tokenizer.ggml.eos_token_id", MetaValue(257U)}});
  return file_of(to, more);
}

TEST(GgufTokenizer, PutsBeginAndEndAroundATextAsLlamaCppDoes) {
  const TemporaryFolder to;
  const auto around = [&](const char* pre, const std::vector<MetaEntry>& more) {
    const TextTokens tokens = read_gguf_tokenizer(bpe_file(to, pre, more))->text_tokens();
    return std::pair(tokens.before, tokens.after);
  };
  using Around = std::pair<std::optional<Token>, std::optional<Token>>;
  EXPECT_EQ(around("gpt-2", {}), Around());
  EXPECT_EQ(around("llama-bpe", {}), Around(256, std::nullopt));
  EXPECT_EQ(around("llama-bpe", {{"tokenizer.ggml.add_bos_token", MetaValue(false)}}), Around());
  EXPECT_EQ(around("qwen2", {{"tokenizer.ggml.add_bos_token", MetaValue(true)}, {"tokenizer.ggml.add_eos_token", MetaValue(true)}}),
            Around(256, 257));
  EXPECT_TRUE(names(error_of([&] { around("qwen2", {{"tokenizer.ggml.add_bos_token", MetaValue("yes")}}); }), {"add_bos_token", "yes"}));
  // The tokens that were written are read back.
  for (const bool bos : {false, true}) {
    for (const bool eos : {false, true}) {
      const auto read = read_gguf_tokenizer(
          bpe_file(to, "llama-bpe", {{"tokenizer.ggml.add_bos_token", MetaValue(bos)}, {"tokenizer.ggml.add_eos_token", MetaValue(eos)}}));
      std::vector<MetaEntry> metadata;
      add_gguf_tokenizer(*read, read->vocab_size(), metadata);
      EXPECT_EQ(read_gguf_tokenizer(file_of(to, metadata))->text_tokens(), read->text_tokens()) << bos << eos;
    }
  }
}

// llama.cpp's names for the same rules (llama-vocab.cpp).
TEST(GgufTokenizer, KnowsTheOtherNamesOfItsRules) {
  const TemporaryFolder to;
  const auto read = [&](const char* pre) {
    const auto tokenizer = read_gguf_tokenizer(bpe_file(to, pre, {}));
    return dynamic_cast<const BpeTokenizer&>(*tokenizer).vocabulary().splitter;
  };
  for (const char* const pre : {"gpt-2", "phi-2", "olmo"}) {
    EXPECT_EQ(read(pre), Splitter::gpt2) << pre;
  }
  for (const char* const pre : {"smollm", "starcoder", "command-r"}) {
    EXPECT_EQ(read(pre), Splitter::smollm) << pre;
  }
  for (const char* const pre : {"llama-bpe", "llama-v3", "dbrx", "smaug-bpe", "lfm2"}) {
    EXPECT_EQ(read(pre), Splitter::llama3) << pre;
  }
  for (const char* const pre : {"qwen2", "deepseek-r1-qwen"}) {
    EXPECT_EQ(read(pre), Splitter::qwen2) << pre;
  }
  EXPECT_TRUE(names(error_of([&] { read("unheard-of"); }),
                    {"tokenizer.ggml.pre", "unheard-of", "gpt-2", "smaug-bpe", "deepseek-llm", "deepseek-coder"}));
  EXPECT_EQ(read_gguf_tokenizer(bpe_file(to, "deepseek-coder", {}))->encode("ab").size(), 2U);
}

// The expected words and counts are from Python's re and unicodedata, with the expressions of deepseek-llm-7b's tokenizer.json.
TEST(GgufTokenizer, SplitsAsDeepSeekLlm) {
  const TemporaryFolder to;
  const auto tokenizer = read_gguf_tokenizer(bpe_file(to, "deepseek-llm", {}));
  const PreTokenizer steps(parse_json(dynamic_cast<const PipelineTokenizer&>(*tokenizer).contents().pre_tokenizer));
  const auto words = [&](std::string_view text) {
    std::string all;
    for (const std::string_view word : steps.split(text, 0).words) {
      all += concat(all.empty() ? "" : "|", *byte_level::to_bytes(word));
    }
    return all;
  };
  EXPECT_EQ(words("Hello, world 123! "), "Hello|,| world| |1|2|3|!| ");
  EXPECT_EQ(words("  two  spaces\n\n\tand \"quotes\".\r\n"), " | two| | spaces|\n|\n|\tand| \"|quotes|\".|\r|\n");
  EXPECT_EQ(words("\u00E7a Stra\u00DFe \u0416\u0438"), "\u00E7|a| Stra|\u00DF|e| \u0416\u0438")
      << "its punctuation has the letters of ASCII";
  EXPECT_EQ(words("\u0540\u0561\u0575 \u10E5"), "\u0540|\u0561\u0575 |\u10E5") << "small letters that the rule leaves out";
  EXPECT_EQ(words("\u4E2D\u6587\uFF0C\u6807\u3002\uD55C\uAD6D \u304B"), "\u4E2D\u6587|\uFF0C|\u6807|\u3002|\uD55C\uAD6D| |\u304B");
  EXPECT_EQ(words("x\u00B2\u00BD 12ab34"), "x|\u00B2|\u00BD| |1|2|ab|3|4");
  EXPECT_EQ(words("\u2018hi\u2019 \u3000 \u20AC5  "), "\u2018|hi|\u2019| |\u3000| |\u20AC|5|  ");
  // The characters that join one before them, by number and sum.
  const auto joined = [&](std::string_view first, char32_t end) {
    std::string lines;
    for (char32_t c = 0x20; c < end; c = c == 0xD7FF ? 0xE000 : c + 1) {
      lines += first;
      utf8::append(lines, c);
      lines += '\n';
    }
    const PreTokenizer::Words all = steps.split(lines, 0);
    std::pair<index, index> found;
    for (const std::string_view word : all.words) {
      const std::string bytes = *byte_level::to_bytes(word);
      if (bytes.size() > first.size() && bytes.starts_with(first)) {
        found.first += 1;
        found.second += static_cast<index>(utf8::decode(bytes, static_cast<index>(first.size())).code_point);
      }
    }
    return found;
  };
  EXPECT_EQ(joined("\u0416", 0x20000), std::pair(index{1'607}, index{42'938'915}));
  EXPECT_EQ(joined("!", 0x10000), std::pair(index{64}, index{2'092'108}));
  EXPECT_EQ(joined("\u4E00", 0x10000), std::pair(index{48'448}, index{1'379'631'730}));
  // It is written by its name.
  std::vector<MetaEntry> metadata;
  add_gguf_tokenizer(*tokenizer, tokenizer->vocab_size(), metadata);
  EXPECT_EQ(read_gguf_tokenizer(file_of(to, metadata))->to_json(), tokenizer->to_json());
}

}  // namespace
}  // namespace dikkat
