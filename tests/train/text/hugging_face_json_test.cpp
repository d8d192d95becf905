#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/read_hugging_face_json.h"
#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {
namespace {

using testing::names;

using nlohmann::json;

BpeTokenizer small_with(Splitter splitter = Splitter::gpt2) {
  const std::string_view text = "the cat and the hat, the rat and that";
  const auto made = make_tokenizer({.kind = "bpe", .vocab_size = 264, .splitter = splitter}, std::span(&text, 1));
  return std::move(dynamic_cast<BpeTokenizer&>(*made));
}

/// hugging_face_json() of a small tokenizer with one thing changed.
std::string changed(const std::function<void(json&)>& change, Splitter splitter = Splitter::gpt2) {
  json file = json::parse(hugging_face_json(small_with(splitter).vocabulary()));
  change(file);
  return file.dump();
}

json added(Token id, const char* name, bool special = true) {
  return {{"id", id},        {"content", name},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

json bos_template(Token id) {
  return json::parse(
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
    "pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[)" +
      std::to_string(id) + R"(],"tokens":["<s>"]}}})");
}

TEST(HuggingFaceJson, ComesBackForEachSplitter) {
  const std::string text = "That hat, the CAT'S 12345  hats\n\n  and cafe\u0301 ";
  for (std::size_t s = 0; s < std::size(Names<Splitter>::of); ++s) {
    const BpeTokenizer tokenizer = small_with(static_cast<Splitter>(s));
    const BpeTokenizer again(from_hugging_face_json(hugging_face_json(tokenizer.vocabulary())));
    EXPECT_EQ(again.vocabulary().splitter, static_cast<Splitter>(s));
    EXPECT_EQ(again.vocabulary().nfc, facts_of(static_cast<Splitter>(s)).nfc);
    EXPECT_EQ(again.bpe().ignores_merges(), facts_of(static_cast<Splitter>(s)).ignore_merges);
    EXPECT_EQ(again.bpe().tokens(), tokenizer.bpe().tokens());
    EXPECT_EQ(again.bpe().merges(), tokenizer.bpe().merges());
    EXPECT_EQ(again.vocabulary().added_tokens, tokenizer.vocabulary().added_tokens);
    EXPECT_EQ(again.encode(text), tokenizer.encode(text));
    EXPECT_EQ(again.to_json(), tokenizer.to_json());
    EXPECT_EQ(again.decode(again.encode(text)),
              static_cast<Splitter>(s) == Splitter::qwen2 ? text.substr(0, text.size() - 4) + "\u00E9 " : text);
  }
}

TEST(HuggingFaceJson, MergesMayBePairsAndTheTypeOfTheModelMayBeAbsent) {
  const std::string pairs = changed([](json& file) {
    for (json& merge : file["model"]["merges"]) {
      const auto line = merge.get<std::string>();
      merge = json::array({line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1)});
    }
    file["model"].erase("type");
    file["pre_tokenizer"].erase("use_regex");
  });
  EXPECT_EQ(tokenizer_from_json(pairs)->to_json(), small_with().to_json());
}

TEST(HuggingFaceJson, AcceptsEquivalentForms) {
  const std::function<void(json&)> ways[] = {
      [](json& f) { f["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array({f["pre_tokenizer"]})}}; },
      [](json& f) {
        f["pre_tokenizer"]["use_regex"] = false;
        const json split = {
            {"type", "Split"}, {"pattern", {{"Regex", facts_of(Splitter::gpt2).regex}}}, {"behavior", "Isolated"}, {"invert", false}};
        f["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array({split, f["pre_tokenizer"]})}};
      },
      [](json& f) { f["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}}; },
      [](json& f) { f["post_processor"] = nullptr; },
      [](json& f) { f["decoder"] = nullptr; },
      [](json& f) { f["model"]["unk_token"] = "<|endoftext|>"; },  // for bytes without a token, but each byte has one
      [](json& f) { f["model"]["ignore_merges"] = false; },
      [](json& f) { f["model"]["new_option"] = nullptr; },
      [](json& f) { f["model"]["vocab"].erase("<|endoftext|>"); },
  };
  for (const auto& way : ways) {
    EXPECT_EQ(tokenizer_from_json(changed(way))->to_json(), small_with().to_json());
  }
}

TEST(HuggingFaceJson, RefusesFilesThatWouldGiveOtherTokens) {
  struct Case {
    std::function<void(json&)> change;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {[](json& f) { f["normalizer"] = {{"type", "Precompiled"}}; }, {"normalizer", R"({"type":"Precompiled"})", "NFC"}},
      {[](json& f) { f["pre_tokenizer"] = {{"type", "Spaces"}}; }, {"pre_tokenizer", R"({"type":"Spaces"})", "ByteLevel"}},
      {[](json& f) { f["model"]["type"] = "Unigram"; }, {"model.type", "\"Unigram\"", "\"BPE\""}},
      {[](json& f) { f["model"]["dropout"] = 0.1; }, {"model.dropout", "0.1", "null"}},
      {[](json& f) { f["model"]["end_of_word_suffix"] = "</w>"; }, {"model.end_of_word_suffix", "\"</w>\"", "\"\""}},
      {[](json& f) { f["model"]["ignore_merges"] = 1; }, {"model.ignore_merges", "1", "true or false"}},
      {[](json& f) { f["model"]["new_option"] = true; }, {"model", "field", "\"new_option\"", "true"}},
      {[](json& f) { f["new_step"] = {{"type", "X"}}; }, {"field", "\"new_step\""}},
      {[](json& f) { f["truncation"] = {{"max_length", 8}}; }, {"truncation", R"({"max_length":8})", "null"}},
      {[](json& f) { f["decoder"] = {{"type", "CTC"}}; }, {"decoder", R"({"type":"CTC"})", "ByteLevel"}},
      {[](json& f) { f["post_processor"] = {{"type", "RobertaProcessing"}}; }, {"post_processor", R"({"type":"RobertaProcessing"})"}},
      {[](json& f) { f["post_processor"] = bos_template(1); }, {"post_processor", "added token"}},
      {[](json& f) {
         f["added_tokens"].push_back(added(264, "<s>"));
         f["post_processor"] = bos_template(264);
         f["post_processor"]["single"].insert(f["post_processor"]["single"].begin(), f["post_processor"]["single"][0]);
       },
       {"post_processor", "at most one"}},
      {[](json& f) { f["added_tokens"].push_back(added(270, "<s>")); }, {"\"<s>\"", "270", "264"}},
      {[](json& f) { f["added_tokens"].push_back(added(264, "\u0120the")); }, {"264", "vocabulary", "261"}},
      {[](json& f) { f["added_tokens"][0]["lstrip"] = "yes"; }, {"added_tokens.lstrip", "\"yes\"", "true or false"}},
      {[](json& f) { f["added_tokens"][0]["glue"] = true; }, {"added_tokens", "field", "\"glue\""}},
  };
  for (const Case& c : cases) {
    const std::string error = input_error_of([&] { tokenizer_from_json(changed(c.change)); });
    EXPECT_TRUE(names(error, c.parts));
  }
}

TEST(HuggingFaceJson, RulesWithoutASplitterRunStepByStep) {
  struct Case {
    std::function<void(json&)> change;
    std::vector<Token> (*expected)(const BpeTokenizer& same);
  };
  const auto the = [](const BpeTokenizer& same) { return same.encode("the cat"); };
  const Case cases[] = {
      {[](json& f) { f["normalizer"] = {{"type", "NFKC"}}; }, the},
      {[](json& f) { f["normalizer"] = {{"type", "Lowercase"}}; }, the},
      {[](json& f) { f["pre_tokenizer"]["use_regex"] = false; }, the},
      {[](json& f) { f["pre_tokenizer"]["add_prefix_space"] = true; }, [](const BpeTokenizer& same) { return same.encode(" the cat"); }},
      {[](json& f) {
         f["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers", json::array({{{"type", "Digits"}, {"individual_digits", false}}, f["pre_tokenizer"]})}};
       },
       the},
  };
  for (const Case& c : cases) {
    const auto tokenizer = tokenizer_from_json(changed(c.change));
    ASSERT_NE(dynamic_cast<const PipelineTokenizer*>(tokenizer.get()), nullptr);
    EXPECT_EQ(tokenizer->encode("the cat"), c.expected(small_with()));
    EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
    EXPECT_EQ(tokenizer->separator(), 263);
  }
}

TEST(HuggingFaceJson, SplitsByARuleOfItsOwn) {
  const auto with_split = [](const std::function<void(json&)>& change) {
    return changed([&](json& f) { change(f["pre_tokenizer"]["pretokenizers"][0]); }, Splitter::llama3);
  };
  const auto tokenizer = tokenizer_from_json(with_split([](json& s) { s["pattern"]["Regex"] = R"(\p{N}{1,2}|.+)"; }));
  EXPECT_TRUE(tokenizer->is_lossless());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the 123 cats\n")), "the 123 cats\n");
  EXPECT_EQ(tokenizer->stable_prefix("the cat "), 0) << "nothing is known of this rule";
  EXPECT_TRUE(names(input_error_of([&] { tokenizer_from_json(with_split([](json& s) { s["pattern"]["Regex"] = "[a&&b]"; })); }),
                    {"[a&&b]", "intersection"}));
}

TEST(HuggingFaceJson, RefusesDamage) {
  struct Case {
    std::function<void(json&)> change;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {[](json& f) { f.erase("model"); }, {"kind is missing"}},
      {[](json& f) { f["model"] = 3; }, {"no field", "\"model\""}},
      {[](json& f) { f["model"].erase("vocab"); }, {"vocabulary", "object"}},
      {[](json& f) { f["model"]["vocab"] = json::array(); }, {"vocabulary", "object"}},
      {[](json& f) { f["model"]["vocab"]["a"] = 4000000000; }, {"\"a\"", "4000000000", "0"}},
      {[](json& f) { f["model"]["vocab"]["a"] = -1; }, {"\"a\"", "id -1"}},
      {[](json& f) { f["model"]["vocab"]["a"] = 0.5; }, {"\"a\"", "id 0.5"}},
      {[](json& f) { f["model"]["vocab"]["b"] = f["model"]["vocab"]["a"]; }, {"two tokens", "id"}},
      {[](json& f) { f["model"]["vocab"].erase("q"); }, {"byte 113"}},
      {[](json& f) { f["model"]["vocab"]["\u4E00"] = f["model"]["vocab"].size(); }, {"\"\u4E00\"", "byte-level"}},
      {[](json& f) { f["model"].erase("merges"); }, {"merges", "array"}},
      {[](json& f) { f["model"]["merges"][0] = 7; }, {"merge 0", "7"}},
      {[](json& f) { f["model"]["merges"][1] = "a"; }, {"merge 1", "\"a\"", "two"}},
      {[](json& f) { f["model"]["merges"][1] = "a qqq"; }, {"merge 1", "\"qqq\"", "vocabulary"}},
      {[](json& f) { f["model"]["merges"][1] = "a <|endoftext|>"; }, {"merge 1", "\"<|endoftext|>\"", "added"}},
      {[](json& f) { f["model"]["merges"].push_back("z z"); }, {"\"zz\"", "not a token"}},
      {[](json& f) { f["model"]["merges"].erase(0); }, {"no merge", "1"}},
      {[](json& f) { f["added_tokens"][0]["id"] = "x"; }, {"added token", "\"id\":\"x\"", "content"}},
      {[](json& f) { f["added_tokens"] = 1; }, {"added_tokens", "1", "array"}},
      {[](json& f) { f["added_tokens"][0]["id"] = 100000; }, {"\"<|endoftext|>\"", "100000", "vocabulary", "263"}},
      {[](json& f) { f["added_tokens"][0]["content"] = "<x>"; }, {"263", "\"<x>\"", "vocabulary", "\"<|endoftext|>\""}},
      {[](json& f) { f["added_tokens"].push_back(f["added_tokens"][0]); }, {"two added tokens", "263"}},
      {[](json& f) { f["added_tokens"].push_back(added(264, "<|endoftext|>")); }, {"\"<|endoftext|>\"", "264"}},
      {[](json& f) { f["model"]["vocab"]["\u0120the"] = 264; }, {"no token", "id"}},
  };
  for (const Case& c : cases) {
    const std::string error = input_error_of([&] { tokenizer_from_json(changed(c.change)); });
    EXPECT_TRUE(names(error, c.parts));
  }
  EXPECT_TRUE(names(input_error_of([] { tokenizer_from_json("{\"model\":"); }), {"JSON"}));
}

TEST(HuggingFaceJson, IgnoredMergesKeepATokenWhole) {
  const auto file = [](bool ignore) {
    return changed([&](json& f) {
      f["model"]["merges"] = json::array();
      f["model"]["ignore_merges"] = ignore;
    });
  };
  EXPECT_TRUE(names(input_error_of([&] { tokenizer_from_json(file(false)); }), {"no merge"}));
  const auto tokenizer = tokenizer_from_json(file(true));
  const auto the = small_with().encode(" the");
  ASSERT_EQ(the.size(), 1U);
  EXPECT_EQ(tokenizer->encode("a the"), (std::vector<Token>{64, the[0]}));
  EXPECT_EQ(tokenizer->encode("them").size(), 4U);
}

TEST(BpeTokenizer, ReportsWhereATextHasAByteWithoutAToken) {
  const auto tokenizer = tokenizer_from_json(changed([](json& f) {
    // SmolLM 2's vocabulary has no tokens for bytes that its corpus did not have. Even so, ids have no gaps.
    json vocabulary;
    for (const auto& [text, id] : f["model"]["vocab"].items()) {
      const auto old = id.get<Token>();
      if (old != 189) {  // the byte 1
        vocabulary[text] = old > 189 ? old - 1 : old;
      }
    }
    f["model"]["vocab"] = vocabulary;
    f["added_tokens"][0]["id"] = 262;
  }));
  EXPECT_EQ(dynamic_cast<BpeTokenizer&>(*tokenizer).bpe().missing_bytes(), "\x01");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the cat\x02")), "the cat\x02");
  EXPECT_TRUE(names(input_error_of([&] { tokenizer->encode("cat \x01 hat"); }), {"byte 4", "U+0001", "byte 1", "no token"}));
  EXPECT_THROW(tokenizer->encode(std::string(100, 'a') + '\x01'), EncodeError);
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->encode("the cat"), tokenizer->encode("the cat"));
}

/// A file like that of Llama 3's owner: it puts tokens before and after a text.
std::string with_template() {
  return changed([](json& f) {
    f["added_tokens"].push_back(added(264, "<s>"));
    f["added_tokens"].push_back(added(265, "<tool>", false));
    f["post_processor"] = {{"type", "Sequence"}, {"processors", json::array({f["post_processor"], bos_template(264)})}};
  });
}

TEST(BpeTokenizer, EncodesSpecialTokensWhenAskedFor) {
  const auto tokenizer = tokenizer_from_json(with_template());
  const std::vector<Token> text = tokenizer->encode("a<s>");
  EXPECT_EQ(text.size(), 4U) << "ordinary text";
  EXPECT_EQ(tokenizer->decode(text), "a<s>");
  EXPECT_EQ(tokenizer->encode_with_special("a<s>"), (std::vector<Token>{64, 264}));
  EXPECT_EQ(tokenizer->encode_with_special("<|endoftext|>a"), (std::vector<Token>{263, 64}));
  EXPECT_EQ(tokenizer->encode("a<tool>a"), (std::vector<Token>{64, 265, 64})) << "this one is text";
  EXPECT_EQ(tokenizer->decode(std::vector<Token>{264, 265}), "<s><tool>");
  EXPECT_EQ(tokenizer->special_tokens(), (std::vector<SpecialToken>{{263, "<|endoftext|>"}, {264, "<s>"}}));
  EXPECT_EQ(tokenizer->suppressed_tokens(), (std::vector<Token>{264}));
  EXPECT_THROW(tokenizer->encode_with_special("<s>\xFF"), EncodeError);
}

TEST(BpeTokenizer, KnowsTheTokensAroundATextAndKeepsThem) {
  const auto tokenizer = tokenizer_from_json(with_template());
  EXPECT_EQ(tokenizer->text_tokens(), (TextTokens{.bos = 264, .eos = 263, .before = 264, .ends = {263}}));
  EXPECT_EQ(tokenizer->separator(), 263);
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->text_tokens(), tokenizer->text_tokens());
  EXPECT_EQ(small_with().text_tokens(), (TextTokens{.bos = 263, .eos = 263, .ends = {263}}));

  BpeVocabulary given = from_hugging_face_json(with_template());
  given.text_tokens.eos = 264;
  given.text_tokens.ends = {264, 265};
  const BpeTokenizer chat(std::move(given));
  EXPECT_EQ(chat.text_tokens(), (TextTokens{.bos = 264, .eos = 264, .before = 264, .ends = {264, 265, 263}}));
  EXPECT_EQ(chat.separator(), 263) << "between documents";
  EXPECT_TRUE(chat.suppressed_tokens().empty());
  const auto again = tokenizer_from_json(chat.to_json());
  EXPECT_EQ(again->text_tokens(), chat.text_tokens());
  EXPECT_EQ(again->to_json(), chat.to_json());
}

TEST(BpeTokenizer, TheSeparatorHasAKnownNameOrIsEos) {
  const auto renamed = [](const char* name) {
    return changed([&](json& f) {
      f["model"]["vocab"].erase("<|endoftext|>");
      f["added_tokens"][0]["content"] = name;
    });
  };
  EXPECT_EQ(tokenizer_from_json(renamed("<|end_of_text|>"))->separator(), 263);
  EXPECT_EQ(tokenizer_from_json(renamed("<e>"))->separator(), std::nullopt);
  EXPECT_TRUE(tokenizer_from_json(renamed("<e>"))->text_tokens().ends.empty());
  BpeVocabulary vocabulary = from_hugging_face_json(renamed("<e>"));
  vocabulary.text_tokens.eos = 263;
  EXPECT_EQ(BpeTokenizer(std::move(vocabulary)).separator(), 263);
}

TEST(BpeTokenizer, RefusesTextTokensThatAreText) {
  const auto error = [](const TextTokens& tokens) {
    BpeVocabulary vocabulary = from_hugging_face_json(with_template());
    vocabulary.text_tokens = tokens;
    return input_error_of([&] { BpeTokenizer(std::move(vocabulary)); });
  };
  EXPECT_TRUE(names(error({.bos = 64}), {"token 64", "bos"}));
  EXPECT_TRUE(names(error({.eos = 9000}), {"token 9000", "eos"}));
  EXPECT_TRUE(names(error({.ends = {263, 64}}), {"token 64", "end"}));
}

TEST(BpeTokenizer, RefusesADescriptionWithWrongTextTokens) {
  BpeVocabulary vocabulary = from_hugging_face_json(with_template());
  vocabulary.text_tokens.eos = 264;
  const std::string good = bpe_json(vocabulary);
  const auto error = [&](const std::function<void(json&)>& change) {
    json file = json::parse(good);
    change(file);
    return input_error_of([&] { tokenizer_from_json(file.dump()); });
  };
  EXPECT_TRUE(names(error([](json& f) { f["eos"] = "x"; }), {"eos", "\"x\""}));
  EXPECT_TRUE(names(error([](json& f) { f["ends"] = 3; }), {"ends is 3"}));
  EXPECT_TRUE(names(error([](json& f) { f["ends"] = {-3}; }), {"ends is [-3]"}));
  EXPECT_TRUE(names(error([](json& f) { f["tokenizer"] = 3; }), {"tokenizer is 3"}));
  EXPECT_TRUE(names(error([](json& f) { f["more"] = 3; }), {"more", "does not know"}));
  EXPECT_TRUE(names(error([](json& f) { f.erase("ends"); }), {"ends is missing"}));
}

TEST(BpeTokenizer, DoesNotSplitACorpusWhereATokenMayStand) {
  const auto tokenizer_with = [](const std::function<void(json&)>& change) {
    return tokenizer_from_json(changed([&](json& f) {
      f["added_tokens"].push_back(added(264, "<tool>", false));
      change(f["added_tokens"][1]);
    }));
  };
  EXPECT_EQ(tokenizer_with([](json&) {})->stable_prefix("one <tool> two"), 10);
  EXPECT_TRUE(tokenizer_with([](json&) {})->is_lossless());
  const auto strips = tokenizer_with([](json& t) { t["rstrip"] = true; });
  EXPECT_EQ(strips->stable_prefix("one <tool> two"), 0);
  EXPECT_FALSE(strips->is_lossless());
}

TEST(HuggingFaceFiles, HoldTheFilesOfAModelsFolder) {
  const BpeTokenizer tokenizer(from_hugging_face_json(with_template()));
  const HuggingFaceFiles files = hugging_face_files(tokenizer.vocabulary(), {.context = 64, .chat_template = "{{ x }}"});
  EXPECT_EQ(files.tokenizer_json, hugging_face_json(tokenizer.vocabulary()));
  const json config = json::parse(files.tokenizer_config_json);
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["eos_token"], "<|endoftext|>");
  EXPECT_EQ(config["model_max_length"], 64);
  EXPECT_EQ(config["chat_template"], "{{ x }}");
  EXPECT_EQ(config["added_tokens_decoder"]["265"]["special"], false);
  EXPECT_EQ(json::parse(files.special_tokens_map_json), (json{{"bos_token", "<s>"}, {"eos_token", "<|endoftext|>"}}));
  BpeVocabulary again = from_hugging_face_json(files.tokenizer_json);
  read_tokenizer_config(files.tokenizer_config_json, again);
  EXPECT_EQ(bpe_json(again), tokenizer.to_json()) << "no further file is needed";
}

// A tokenizer class of transformers may put its own tokens around a text; with other classes the file's own post_processor counts.
TEST(HuggingFaceFiles, TheClassMayPutTokensAroundATextItself) {
  struct Around {
    std::optional<Token> before, after;
    std::size_t notes = 0;
    bool operator==(const Around&) const = default;
  };
  const auto read = [](std::string tokenizer, json config) {
    BpeVocabulary vocabulary = from_hugging_face_json(tokenizer);
    config["bos_token"] = "<s>";
    config["eos_token"] = "<|endoftext|>";
    const std::vector<std::string> notes = read_tokenizer_config(config.dump(), vocabulary);
    return Around{vocabulary.text_tokens.before, vocabulary.text_tokens.after, notes.size()};
  };
  const std::string with_begin = with_template();
  json plain = json::parse(with_begin);
  plain["post_processor"] = nullptr;
  const std::string without = plain.dump();
  // Read files of several classes.
  ASSERT_EQ(read(with_begin, {{"tokenizer_class", "GPT2Tokenizer"}}), (Around{264, std::nullopt}));
  EXPECT_EQ(read(without, {{"tokenizer_class", "LlamaTokenizerFast"}, {"add_bos_token", true}}), (Around{264, std::nullopt, 1}));
  EXPECT_EQ(read(without, {{"tokenizer_class", "LlamaTokenizerFast"}}), (Around{264, std::nullopt, 1})) << "true by default";
  EXPECT_EQ(read(with_begin, {{"tokenizer_class", "GemmaTokenizer"}}), (Around{264, std::nullopt}));
  EXPECT_EQ(read(with_begin, {{"tokenizer_class", "LlamaTokenizerFast"}, {"add_bos_token", false}, {"add_eos_token", true}}),
            (Around{std::nullopt, 263, 2}));
  EXPECT_EQ(read(without, {{"tokenizer_class", "Qwen2Tokenizer"}, {"add_bos_token", false}}), (Around{}));
  EXPECT_EQ(read(without, {{"tokenizer_class", "Qwen2Tokenizer"}, {"add_bos_token", true}}), (Around{{}, {}, 1}))
      << "the two files disagree";
  // The written file is read again.
  BpeVocabulary vocabulary = from_hugging_face_json(without);
  read_tokenizer_config(
      R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>", "eos_token": "<|endoftext|>", "add_eos_token": true})", vocabulary);
  const HuggingFaceFiles files = hugging_face_files(vocabulary);
  EXPECT_EQ(json::parse(files.tokenizer_config_json)["add_bos_token"], true);
  EXPECT_EQ(json::parse(files.tokenizer_config_json)["add_eos_token"], true);
  BpeVocabulary again = from_hugging_face_json(files.tokenizer_json);
  EXPECT_TRUE(read_tokenizer_config(files.tokenizer_config_json, again).empty());
  EXPECT_EQ(again.text_tokens.before, 264);
  EXPECT_EQ(again.text_tokens.after, 263);
}

TEST(HuggingFaceFiles, TheConfigurationBesideNamesBosAndEos) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "hugging_face_files";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json") << with_template();
  const auto read = [&](const json& config) {
    std::ofstream(folder / "tokenizer_config.json") << config;
    return read_tokenizer_file(folder.string());
  };
  EXPECT_EQ(read({{"eos_token", {{"content", "<s>"}}}, {"bos_token", nullptr}})->text_tokens(),
            (TextTokens{.bos = 264, .eos = 264, .before = 264, .ends = {264, 263}}));
  EXPECT_EQ(read({{"eos_token", "<|endoftext|>"}})->to_json(), tokenizer_from_json(with_template())->to_json());
  EXPECT_TRUE(names(input_error_of([&] { read({{"eos_token", "</s>"}}); }), {"eos_token", "\"</s>\""}));
  EXPECT_TRUE(names(input_error_of([&] { read({{"eos_token", 3}}); }), {"\"eos_token\"", "tokenizer_config.json", "3"}));
  EXPECT_TRUE(names(input_error_of([&] { read({{"add_prefix_space", true}}); }), {"add_prefix_space", "true", "false"}));
  EXPECT_TRUE(names(input_error_of([&] { read({{"added_tokens_decoder", {{"300", {{"content", "<x>"}}}}}}); }), {"\"<x>\"", "id 300"}));
  std::filesystem::remove_all(folder);
}

TEST(HuggingFaceFiles, AFileOfAnotherProgramSaysHowToConvertIt) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "foreign_tokenizer_files";
  for (const char* const file : {"tokenizer.model", "tekken.json"}) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / file) << "{}";
    for (const std::filesystem::path& given : {folder, folder / file}) {
      EXPECT_TRUE(names(input_error_of([&] { read_tokenizer_file(given.string()); }), {file, "tokenizer.json", "save_pretrained"}));
    }
    std::ofstream(folder / "tokenizer.json") << with_template();
    EXPECT_EQ(read_tokenizer_file(folder.string())->vocab_size(), 266);
    std::filesystem::remove_all(folder);
  }
}

TEST(BpeVocabulary, NamesItsTokensAsFilesDo) {
  const BpeTokenizer tokenizer(from_hugging_face_json(with_template()));
  const BpeVocabulary& vocabulary = tokenizer.vocabulary();
  EXPECT_EQ(vocabulary.size(), 266);
  EXPECT_EQ(vocabulary.text_of(0), "!");
  EXPECT_EQ(vocabulary.text_of(220), "\u0120");
  EXPECT_EQ(vocabulary.text_of(264), "<s>");
  EXPECT_EQ(vocabulary.type_of(220), TokenType::text);
  EXPECT_EQ(vocabulary.type_of(264), TokenType::special);
  EXPECT_EQ(vocabulary.type_of(265), TokenType::added);
  EXPECT_EQ(vocabulary.merge_texts()[0], (std::pair<std::string, std::string>("a", "t")));
  EXPECT_EQ(vocabulary.added_token("<tool>"), 265);
  EXPECT_EQ(vocabulary.added_token("the"), std::nullopt);
}

/// tests/golden/tokenizer/splitters has tokenizers that look like their owners', and ids by Hugging Face's encoder.
class GoldenSplitter : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string contents(const std::string& name) {
    std::ifstream file(std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/golden/tokenizer" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string name_ = GetParam();
  const json golden_ = json::parse(contents("splitters/" + name_ + "_golden.json"));
  const std::unique_ptr<Tokenizer> tokenizer_ = tokenizer_from_json(contents("splitters/" + name_ + ".json"));
};

TEST_P(GoldenSplitter, Cases) {
  ASSERT_GE(golden_["cases"].size(), 80U);
  std::size_t with_special = 0;
  for (const auto& tokenizer :
       {tokenizer_from_json(tokenizer_->to_json()), tokenizer_from_json(contents("splitters/" + name_ + ".json"))}) {
    EXPECT_EQ(name_of(dynamic_cast<BpeTokenizer&>(*tokenizer).vocabulary().splitter), name_);
    for (const json& c : golden_["cases"]) {
      const auto text = c["text"].get<std::string>();
      EXPECT_EQ(tokenizer->encode(text), c["ids"].get<std::vector<Token>>()) << c["text"];
      EXPECT_EQ(tokenizer->encode_for_model(text), c[c.contains("with_special") ? "with_special" : "ids"].get<std::vector<Token>>())
          << c["text"];
      with_special += c.contains("with_special") ? 1 : 0;
    }
  }
  EXPECT_GE(with_special, 3U);
}

TEST_P(GoldenSplitter, TextsInManyScripts) {
  ASSERT_GE(golden_["files"].size(), 15U);
  for (const auto& [file, ids] : golden_["files"].items()) {
    EXPECT_EQ(tokenizer_->encode(contents("texts/" + file)), ids.get<std::vector<Token>>()) << file;
  }
}

TEST_P(GoldenSplitter, RandomTextsHaveTheSameTokensInParts) {
  constexpr const char* kParts[] = {"a",      "e",           "S",          "'ll",    "12",     "3",      ".",      " ",
                                    "  ",     "\n",          "\r",         "\t",     "\u0085", "\u3000", "\u0301", "\u0323",
                                    "\u3042", "<tool_call>", "<|im_end|>", "\u1100", "\u1161", "\u11A8", "<tool_", "call>"};
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t parts = random() % 40; parts > 0; --parts) {
      text += kParts[random() % std::size(kParts)];
    }
    const std::vector<Token> whole = tokenizer_->encode(text);
    for (const std::size_t block : {1U, 3U, 7U, 16U}) {
      std::vector<Token> tokens;
      std::string held;
      for (std::size_t at = 0; at < text.size() || !held.empty(); at += block) {
        held += text.substr(std::min(at, text.size()), block);
        const std::size_t stable = at + block >= text.size() ? held.size() : static_cast<std::size_t>(tokenizer_->stable_prefix(held));
        for (const Token token : tokenizer_->encode(std::string_view(held).substr(0, stable))) {
          tokens.push_back(token);
        }
        held.erase(0, stable);
      }
      ASSERT_EQ(tokens, whole) << block << " bytes of " << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Owners, GoldenSplitter, ::testing::Values("smollm", "llama3", "qwen2"));

}  // namespace
}  // namespace dikkat
