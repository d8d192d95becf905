#include "train/text/hugging_face/bpe_pipeline.h"

#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/text/hugging_face/sentence_piece.h"
#include "train/text/hugging_face/token_decoder.h"
#include "train/text/tokenizer.h"

namespace dikkat {
namespace {

using nlohmann::json;
using testing::names;

const json kFuse = {{"type", "Fuse"}};

/// A tokenizer.json whose tokens are the letters a to f, signs and spaces, "▁", and the results of a few merges.
json small_file() {
  json vocabulary;
  for (const char* const token :
       {"<unk>", "a", "b", "c", "d", "e", "f", "A", "1", "2", " ", ".", "\n", "\u2581", "\u00E9", "ab", "abc", "\u2581a", "\u2581ab"}) {
    const auto id = vocabulary.size();
    vocabulary[token] = id;
  }
  return {{"version", "1.0"},
          {"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", kFuse},
          {"model",
           {{"type", "BPE"},
            {"unk_token", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"vocab", vocabulary},
            {"merges", {"a b", "ab c", "\u2581 a", "\u2581a b", "\u2581 ab"}}}}};
}

std::unique_ptr<Tokenizer> made(const std::function<void(json&)>& change) {
  json file = small_file();
  change(file);
  return tokenizer_from_json(file.dump());
}

/// The tokens of a text, as the file spells them, with "|" between.
std::string pieces(const Tokenizer& tokenizer, std::string_view text, bool special = false) {
  const auto& contents = dynamic_cast<const PipelineTokenizer&>(tokenizer).contents();
  std::string all;
  for (const Token token : special ? tokenizer.encode_with_special(text) : tokenizer.encode(text)) {
    all += concat(all.empty() ? "" : "|", contents.text_of(token));
  }
  return all;
}

std::string error_with(const std::function<void(json&)>& change) {
  return input_error_of([&] { made(change); });
}

json split(const json& pattern, const char* behavior, bool invert = false) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
}

// Without steps a text is one word, whose characters are merged.
TEST(BpePipeline, MergesByRankFromLeftToRight) {
  const auto tokenizer = made([](json&) {});
  EXPECT_EQ(pieces(*tokenizer, "abcab"), "abc|ab");
  EXPECT_EQ(pieces(*tokenizer, "bab"), "b|ab");
  EXPECT_EQ(pieces(*tokenizer, "\u2581abc"), "\u2581|abc") << "the merge of lower rank comes first";
  EXPECT_EQ(pieces(*tokenizer, ""), "");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("abc a.\n")), "abc a.\n");
  EXPECT_TRUE(names(input_error_of([&] { tokenizer->encode("abxc"); }), {"byte 2", "'x'", "no token"}));
}

// How Hugging Face's NormalizedString::split() joins matches: tokenizers/src/tokenizer/normalizer.rs.
TEST(BpePipeline, SplitsWithEachBehavior) {
  const auto with = [](const char* behavior, bool invert, std::string_view text) {
    return pieces(*made([&](json& f) {
      f["pre_tokenizer"] = split({{"String", "."}}, behavior, invert);
      f["model"]["merges"] = {"a b", "a .", ". a", ". ."};
      for (const char* const token : {"a.", ".a", ".."}) {
        f["model"]["vocab"][token] = f["model"]["vocab"].size();
      }
    }),
                  text);
  };
  EXPECT_EQ(with("Isolated", false, "a..a"), "a|.|.|a");
  EXPECT_EQ(with("Removed", false, "a..a"), "a|a");
  EXPECT_EQ(with("Removed", true, "a..a"), ".|.");
  EXPECT_EQ(with("Contiguous", false, "a..a"), "a|..|a");
  EXPECT_EQ(with("MergedWithPrevious", false, "a..a"), "a.|.|a");
  EXPECT_EQ(with("MergedWithNext", false, "a..a"), "a|.|.a");
  EXPECT_EQ(with("MergedWithPrevious", true, "a.."), "a|.|.") << "what matches now is the text between";
}

TEST(BpePipeline, HasTheOtherPreTokenizers) {
  const auto with = [](const json& step, std::string_view text) {
    return pieces(*made([&](json& f) {
      f["pre_tokenizer"] = step;
      f["model"]["merges"] = {"1 2", "\u2581 a", "\u2581a b", "a b"};
      f["model"]["vocab"]["12"] = f["model"]["vocab"].size();
    }),
                  text);
  };
  EXPECT_EQ(with({{"type", "Digits"}, {"individual_digits", true}}, "ab12"), "ab|1|2");
  EXPECT_EQ(with({{"type", "Digits"}, {"individual_digits", false}}, "ab12"), "ab|12");
  EXPECT_EQ(with({{"type", "Whitespace"}}, "ab  a.\nb"), "ab|a|.|b");
  EXPECT_EQ(with({{"type", "WhitespaceSplit"}}, "ab  a.\nb"), "ab|a|.|b");
  EXPECT_EQ(with({{"type", "Punctuation"}, {"behavior", "Removed"}}, "a.b"), "a|b");
  const auto metaspace = [](const char* scheme, bool splits = true) -> json {
    return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", splits}};
  };
  EXPECT_EQ(with(metaspace("always"), "ab ab"), "\u2581ab|\u2581ab");
  EXPECT_EQ(with(metaspace("always"), " ab"), "\u2581ab") << "nothing is put before a space";
  EXPECT_EQ(with(metaspace("never"), "ab ab"), "ab|\u2581ab");
  EXPECT_EQ(with({{"type", "Metaspace"}, {"replacement", "\u2581"}, {"add_prefix_space", false}}, "ab"), "ab");
  EXPECT_EQ(with({{"type", "Metaspace"}, {"replacement", "\u2581"}, {"add_prefix_space", true}}, "ab"), "\u2581ab");
  EXPECT_TRUE(names(error_with([](json& f) { f["pre_tokenizer"] = {{"type", "BertPreTokenizer"}}; }),
                    {"pre_tokenizer", "BertPreTokenizer", "Split"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["pre_tokenizer"] = split({{"String", ""}}, "Isolated"); }), {"empty"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["pre_tokenizer"] = split({{"String", "a"}}, "Glued"); }), {"behavior", "Glued", "Removed"}));
}

TEST(BpePipeline, PutsASpaceOnlyBeforeTheFirstPart) {
  const auto tokenizer = made([](json& f) {
    f["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}};
    f["model"]["merges"] = {"a b", "\u2581 ab"};
    f["added_tokens"] = {{{"id", 19}, {"content", "<x>"}, {"special", true}}};
  });
  EXPECT_EQ(pieces(*tokenizer, "ab<x>ab", true), "\u2581ab|<x>|ab");
  EXPECT_EQ(pieces(*tokenizer, "<x>ab", true), "<x>|ab");
}

// The words of Hugging Face's library 0.20 (Rust), in which the first word is the one that begins with the original text's first character.
TEST(BpePipeline, PutsASpaceBeforeTheFirstCharacterOnly) {
  const json first = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", true}};
  const auto with = [&](const json& normalizer, const std::vector<json>& before, std::string_view text) {
    return pieces(*made([&](json& f) {
      json steps = before;
      steps.push_back(first);
      f["normalizer"] = normalizer;
      f["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
      f["model"]["merges"] = {"\u2581 a", "a b", "\u2581a b"};
    }),
                  text);
  };
  const json spaces = {{"type", "WhitespaceSplit"}}, strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  const auto replace = [](const char* from, const char* to) -> json {
    return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  const json at_b = split({{"String", "b"}}, "Isolated");
  EXPECT_EQ(with(nullptr, {spaces}, "ab"), "\u2581ab");
  EXPECT_EQ(with(nullptr, {spaces}, " a"), "a");
  EXPECT_EQ(with(nullptr, {spaces}, "  ab ab"), "ab|ab");
  EXPECT_EQ(with(nullptr, {spaces}, "a c a"), "\u2581a|c|a");
  EXPECT_EQ(with(strip, {}, " a"), "a");
  EXPECT_EQ(with(strip, {}, "  ab ab"), "ab|\u2581ab");
  EXPECT_EQ(with(strip, {}, "a c a"), "\u2581a|\u2581|c|\u2581a");
  EXPECT_EQ(with(nullptr, {at_b}, "  ab ab"), "\u2581|\u2581a|b|\u2581a|b");
  EXPECT_EQ(with(nullptr, {split({{"String", "b"}}, "Removed")}, "ba"), "a");
  EXPECT_EQ(with(replace("b", ""), {}, "ba"), "a");
  EXPECT_EQ(with(replace("c", "ab"), {at_b}, "ca"), "\u2581a|\u2581|b|a");
  EXPECT_EQ(with(replace("c", "ab"), {at_b}, "bca"), "\u2581|b|a|b|a");
  const json prepend = {{"type", "Prepend"}, {"prepend", "c"}};
  EXPECT_EQ(with(prepend, {at_b}, "ba"), "\u2581|c|\u2581|b|a");
  EXPECT_EQ(with(prepend, {split({{"String", "c"}}, "Removed")}, "a"), "\u2581a");
  EXPECT_EQ(with(nullptr, {first}, "  ab ab"), "\u2581|\u2581ab|\u2581ab") << "twice";
}

TEST(BpePipeline, NormalizesByEachStep) {
  const auto with = [](const json& steps, std::string_view text) {
    return pieces(*made([&](json& f) {
      f["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
      f["model"]["unk_token"] = "<unk>";
    }),
                  text);
  };
  EXPECT_EQ(with({{{"type", "NFC"}}}, "e\u0301"), "\u00E9");
  EXPECT_EQ(with({{{"type", "NFD"}}}, "\u00E9"), "e|<unk>");
  EXPECT_EQ(with({{{"type", "NFKC"}}}, "\u2460\uFF21"), "1|A");
  EXPECT_EQ(with({{{"type", "NFKD"}}}, "\u00E9\u2461"), "e|<unk>|2");
  EXPECT_EQ(with({{{"type", "Lowercase"}}}, "AB"), "ab");
  EXPECT_EQ(with({{{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}}, " \u3000 a "), "a| ");
  EXPECT_EQ(with({{{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}}, "\n a\u00A0"), "a");
  EXPECT_EQ(with({{{"type", "Replace"}, {"pattern", {{"Regex", "[12]+"}}}, {"content", "d"}}}, "a12b1"), "a|d|b|d");
  EXPECT_EQ(
      with({{{"type", "Prepend"}, {"prepend", "\u2581"}}, {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}},
           "a a"),
      "\u2581a|\u2581a");
  EXPECT_EQ(with({{{"type", "Prepend"}, {"prepend", "\u2581"}}}, ""), "");
  EXPECT_TRUE(names(error_with([](json& f) { f["normalizer"] = {{"type", "Precompiled"}}; }), {"normalizer", "Precompiled", "NFKC"}));
}

// The rules of tokenizers/src/models/bpe/model.rs (merge_word).
TEST(BpePipeline, UnknownCharactersAndBytes) {
  const auto with = [](bool fuse, bool bytes, std::string_view text) {
    return pieces(*made([&](json& f) {
      f["model"]["unk_token"] = "<unk>";
      f["model"]["fuse_unk"] = fuse;
      f["model"]["byte_fallback"] = bytes;
      for (int byte = 0; bytes && byte < 256; ++byte) {
        f["model"]["vocab"][token_of_byte(static_cast<unsigned char>(byte))] = f["model"]["vocab"].size();
      }
    }),
                  text);
  };
  EXPECT_EQ(with(false, false, "xxa"), "<unk>|<unk>|a");
  EXPECT_EQ(with(true, false, "xxaxx"), "<unk>|a|<unk>");
  EXPECT_EQ(with(true, true, "x\u00E8"), "<0x78>|<0xC3>|<0xA8>");
  const auto whole = made([](json& f) {
    f["model"]["ignore_merges"] = true;
    f["model"]["merges"] = json::array();
  });
  EXPECT_EQ(pieces(*whole, "abc"), "abc");
  EXPECT_EQ(pieces(*whole, "abca"), "a|b|c|a");
}

TEST(BpePipeline, DecodesByEachStep) {
  const auto decoder = [](const json& steps, const std::vector<std::string>& tokens, bool begins = true) {
    return TokenDecoder(json{{"type", "Sequence"}, {"decoders", steps}})(tokens, begins);
  };
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const json llama = {replace, {{"type", "ByteFallback"}}, kFuse, strip};
  EXPECT_EQ(decoder(llama, {"\u2581a", "\u2581b", "<0xC3>", "<0xA9>"}), "a b\u00E9");
  EXPECT_EQ(decoder(llama, {"\u2581a", "\u2581b"}, false), " a b") << "within a text the first space counts";
  EXPECT_EQ(decoder(llama, {"<0xC3>"}), "\xC3") << "the rest of the character may follow";
  EXPECT_EQ(decoder(json::array({strip}), {" a", " b"}), "ab") << "each token";
  EXPECT_EQ(decoder(json::array({{{"type", "ByteLevel"}}}), {"\u0120a", "\u00C3", "<\u20AC>"}), " a\xC3<\u20AC>");
  EXPECT_EQ(decoder(json::array({{{"type", "Metaspace"}, {"replacement", "\u2581"}}}), {"\u2581a", "\u2581b"}), "a b");
  EXPECT_EQ(decoder(json::array({{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "never"}}}), {"\u2581a", "\u2581b"}),
            " a b");
  EXPECT_TRUE(names(error_with([](json& f) { f["decoder"] = {{"type", "CTC"}}; }), {"decoder", "CTC", "Fuse"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["decoder"] = nullptr; }), {"decoder", "null"}));
}

/// A file as that of Llama 2 or Gemma, with bytes for unknown characters.
json sentence_piece_file(bool prefix) {
  json file = small_file();
  json steps = json::array({{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}});
  if (prefix) {
    steps.insert(steps.begin(), json{{"type", "Prepend"}, {"prepend", "\u2581"}});
  }
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  file["decoder"] = json::parse(
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]})");
  file["model"]["byte_fallback"] = true;
  file["model"]["fuse_unk"] = true;
  file["model"]["unk_token"] = "<unk>";
  for (int byte = 0; byte < 256; ++byte) {
    file["model"]["vocab"][token_of_byte(static_cast<unsigned char>(byte))] = file["model"]["vocab"].size();
  }
  file["added_tokens"] = json::array({{{"id", 0}, {"content", "<unk>"}, {"special", true}}});
  return file;
}

TEST(BpePipeline, ToJsonGivesTheSameTokenizer) {
  for (const bool prefix : {false, true}) {
    const auto tokenizer = tokenizer_from_json(sentence_piece_file(prefix).dump());
    const auto again = tokenizer_from_json(tokenizer->to_json());
    EXPECT_EQ(again->to_json(), tokenizer->to_json());
    EXPECT_EQ(again->encode("ab \"x\\\n\u00E9"), tokenizer->encode("ab \"x\\\n\u00E9"));
    EXPECT_EQ(again->special_tokens(), tokenizer->special_tokens());
  }
}

TEST(BpePipeline, ACorpusIsCutOnlyWhereNothingJoins) {
  const auto tokenizer = tokenizer_from_json(sentence_piece_file(false).dump());
  const std::string_view text = "ab ab  abc\nxyz abc d ef";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto cut = static_cast<std::size_t>(tokenizer->stable_prefix(text.substr(0, size)));
    std::vector<Token> parts = tokenizer->encode(text.substr(0, cut));
    const std::vector<Token> rest = tokenizer->encode(text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, tokenizer->encode(text)) << size << " bytes, cut at " << cut;
  }
  EXPECT_EQ(tokenizer->stable_prefix("d ab"), 1) << "no merge joins d and a space";
  EXPECT_EQ(tokenizer->stable_prefix(" abc"), 0) << "merges join all of these";
  EXPECT_EQ(tokenizer_from_json(sentence_piece_file(true).dump())->stable_prefix(text), 0) << "each part would get a space";
}

TEST(BpePipeline, SpecialTokensWithoutARowAreLeftOut) {
  json file = sentence_piece_file(false);
  const auto size = static_cast<index>(file["model"]["vocab"].size());
  file["added_tokens"].push_back({{"id", size}, {"content", "<image>"}, {"special", true}});
  const auto tokenizer = tokenizer_from_json(file.dump());
  EXPECT_EQ(tokenizer->vocab_size(), size + 1);
  const auto cut = dynamic_cast<const PipelineTokenizer&>(*tokenizer).cut_to(size);
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(cut->vocab_size(), size);
  EXPECT_EQ(cut->encode_with_special("<image>").size(), 7U) << "now it is text";
  EXPECT_EQ(dynamic_cast<const PipelineTokenizer&>(*tokenizer).cut_to(size - 1), nullptr) << "this one is text";
}

TEST(BpePipeline, RefusesModelsOfOtherKindsByName) {
  for (const char* const type : {"Unigram", "WordPiece"}) {
    EXPECT_TRUE(names(error_with([&](json& f) { f["model"]["type"] = type; }), {"model.type", type, "BPE"}));
  }
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["unk_token"] = "<none>"; }), {"unk_token", "<none>"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["vocab"]["b"] = 1; }), {"two tokens", "id 1"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["merges"].push_back("a f"); }), {"\"af\"", "not a token"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["merges"].push_back("a b"); }), {"\"ab\"", "twice"}));
}

// SentencePiece merges the pair whose token has the highest score.
TEST(SentencePiece, ScoresAndMergesSayTheSame) {
  for (const bool prefix : {false, true}) {
    const auto tokenizer = tokenizer_from_json(sentence_piece_file(prefix).dump());
    const BpePipeline& contents = dynamic_cast<const PipelineTokenizer&>(*tokenizer).contents();
    ASSERT_TRUE(sentence_piece_rules(contents));
    EXPECT_EQ(sentence_piece_rules(contents)->adds_space, prefix);
    SentencePieceVocabulary vocabulary{.rules = {.adds_space = prefix}};
    for (const float score : sentence_piece_scores(contents)) {
      vocabulary.scores.push_back(score);
    }
    for (Token id = 0; id < contents.size(); ++id) {
      vocabulary.tokens.push_back(contents.text_of(id));
      vocabulary.types.push_back(contents.type_of(id));
    }
    const PipelineTokenizer again(sentence_piece_pipeline(std::move(vocabulary)));
    for (const std::string_view text : {"abc ab ab", "\u2581ab  abc", "x\u00E8 ab\n"}) {
      EXPECT_EQ(again.encode(text), tokenizer->encode(text));
    }
    EXPECT_EQ(again.special_tokens(), tokenizer->special_tokens());
  }
  EXPECT_FALSE(sentence_piece_rules(dynamic_cast<const PipelineTokenizer&>(*made([](json&) {})).contents())) << "it has no bytes";
}

}  // namespace
}  // namespace dikkat
