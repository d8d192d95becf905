#include <algorithm>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/export_model.h"
#include "train/exchange/model_files.h"
#include "train/model/language_model.h"
#include "train/sample/generate.h"
#include "train/system/folder.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_level.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/hugging_face/token_decoder.h"
#include "train/text/tokenizer_file.h"

// What goes out equals what came in, for every family and every kind of tokenizer: the same ids, the same greedy text and the same way to
// draw answers; or the export is refused, or notes what is lost.
namespace dikkat {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::names;

const fs::path kGolden = fs::path(DIKKAT_SOURCE_DIR) / "tests/golden";

json json_of(const fs::path& path) { return json::parse(std::ifstream(path)); }

/// What an export and an import afterwards make of a model.
struct Outcome {
  std::string refusal{};  // the export's message; empty if it was written
  std::vector<std::string> notes{};
  std::unique_ptr<ModelFiles> files{};
};
Outcome through(const ModelToExport& model, const fs::path& path, ExportFormat format, const ImportOptions& options = {}) {
  Outcome outcome;
  try {
    outcome.notes = export_model(model, path, {.format = format});
  } catch (const InputError& error) {
    outcome.refusal = error.what();
    return outcome;
  }
  outcome.files = std::make_unique<ModelFiles>(path, options);
  return outcome;
}

// --- families

std::unique_ptr<LanguageModel> loaded_model(const ModelFiles& files) {
  auto model = std::make_unique<LanguageModel>(files.config(), files.config().vocab_size);
  model->parameters().allocate(0);
  files.load_weights(model->parameters());
  return model;
}

std::vector<Token> greedy_text(const LanguageModel& model, const std::vector<Token>& prompt) {
  return generate(model.gpt(), {.size = model.config().vocab_size}, prompt, {.max_new_tokens = 12, .temperature = 0}).at(0).tokens;
}

class Families : public ::testing::TestWithParam<std::string> {};

TEST_P(Families, KeepTheirTextsAndTheirSampling) {
  const TemporaryFolder to;
  const ModelFiles source(kGolden / "hf" / GetParam());
  const auto model = loaded_model(source);
  const json expected = json_of(source.path() / "expected.json");
  const auto prompt = expected["prompt"].get<std::vector<Token>>(), text = expected["greedy"].get<std::vector<Token>>();
  const CharTokenizer characters(U"\n !',-.0123456789?ABCDEFabcdefghijklmnopqrstuvwxyz");
  const AnswerSampling samplings[] = {source.sampling(),
                                      greedy(),
                                      {.temperature = 0.6, .top_k = 20, .top_p = 0.95, .min_p = 0.05, .repetition_penalty = 1.1},
                                      {.temperature = 0, .repetition_penalty = 1.25}};
  int number = 0;
  for (const AnswerSampling& sampling : samplings) {
    const ModelToExport out{.config = model->config(), .parameters = model->parameters(), .tokenizer = characters, .sampling = sampling};
    for (const auto& [format, end] :
         {std::pair(ExportFormat::hf, ""), std::pair(ExportFormat::gguf, ".gguf"), std::pair(ExportFormat::llmc, ".bin")}) {
      SCOPED_TRACE(concat(GetParam(), ' ', name_of(format), ' ', number));
      const Outcome outcome = through(out, to / concat(number++, end), format);
      if (outcome.files == nullptr) {
        EXPECT_NE(format, ExportFormat::hf) << outcome.refusal;
        EXPECT_TRUE(names(outcome.refusal, {format == ExportFormat::gguf ? "GGUF" : "llm.c"}));
        continue;
      }
      EXPECT_EQ(greedy_text(*loaded_model(*outcome.files), prompt), text);
      if (format == ExportFormat::llmc) {
        ASSERT_EQ(outcome.notes.size(), 1U);
        EXPECT_TRUE(names(outcome.notes.front(), {"tokenizer", "drawn"}));
        continue;
      }
      EXPECT_EQ(outcome.notes, std::vector<std::string>());
      EXPECT_EQ(outcome.files->sampling(), sampling);
    }
  }
}

std::vector<std::string> folders() {
  std::vector<std::string> all;
  for (const fs::path& path : paths_in(kGolden / "hf")) {
    all.push_back(path.filename().string());
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Of, Families, ::testing::ValuesIn(folders()), [](const auto& test) { return test.param; });

// --- tokenizers

/// Texts of fragments that divide tokenizers: white space of all kinds, contractions, marks, forms that a normalizer changes, names of
/// tokens. They are the same in every run.
std::vector<std::string> odd_texts() {
  const std::vector<std::string> fragments = {" ",
                                              "  ",
                                              "   ",
                                              "\t",
                                              "\n",
                                              "\r\n",
                                              "\n\n",
                                              "\u00A0",
                                              "\u3000",
                                              "\u2003",
                                              "\u0085",
                                              "a",
                                              "ab",
                                              "abc",
                                              "aa",
                                              "the",
                                              " the",
                                              "The",
                                              "THE",
                                              "b",
                                              "c",
                                              "1",
                                              "12",
                                              "123",
                                              "1234",
                                              "\u00BD",
                                              "\u00B2",
                                              "\u2167",
                                              "'s",
                                              "'S",
                                              "'ll",
                                              "\u2019s",
                                              ".",
                                              "...",
                                              "!?",
                                              "-",
                                              "_",
                                              "/",
                                              "\\",
                                              "\"",
                                              "{",
                                              "}",
                                              "\u00E9",
                                              "e\u0301",
                                              "\u0301",
                                              "\uFB01",
                                              "\u212B",
                                              "\u212A",
                                              "\u0130",
                                              "\u0131",
                                              "\u00DF",
                                              "\u0391\u03A9",
                                              "\u043F\u0440\u0438",
                                              "\u65E5\u672C",
                                              "\u30FC",
                                              "\uD55C",
                                              "\u1112\u1161\u11AB",
                                              "\U0001F642",
                                              "\U0001F469\u200D\U0001F467",
                                              "\uFEFF",
                                              std::string(1, '\0'),
                                              "\x01",
                                              "\x7F",
                                              "\u2581",
                                              "\u2581\u2581",
                                              "\u0120",
                                              "\u010A",
                                              "<0x41>",
                                              "<unk>",
                                              "<s>",
                                              "</s>",
                                              "<x>",
                                              "<x",
                                              "<|endoftext|>"};
  std::vector<std::string> texts;
  std::uint32_t state = 1;
  const auto draw = [&](std::size_t count) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::size_t>(state >> 8) % count;
  };
  while (texts.size() < 1000) {
    std::string text;
    for (std::size_t left = draw(9); left > 0; --left) {
      text += fragments[draw(fragments.size())];
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

/// What a tokenizer makes of a text, as ordinary text or with the names of special tokens: the tokens, and the text that they stand for.
/// Nothing if the text has a character that the tokenizer does not know.
using IdsAndText = std::optional<std::pair<std::vector<Token>, std::string>>;

std::vector<IdsAndText> readings_of(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  std::vector<IdsAndText> all;
  for (const std::string& text : texts) {
    for (const bool special : {false, true}) {
      IdsAndText& one = all.emplace_back();
      try {
        const std::vector<Token> tokens = special ? tokenizer.encode_with_special(text) : tokenizer.encode(text);
        one = {tokens, tokenizer.decode(tokens)};
      } catch (const EncodeError&) {
      }
    }
  }
  return all;
}

/// The first text of which two tokenizers make something else; empty if there is none.
std::string difference(const std::vector<IdsAndText>& a, const std::vector<IdsAndText>& b, const std::vector<std::string>& texts) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  return at == a.size() ? "" : concat("text ", at / 2, ": ", in_quotes(texts[at / 2]));
}

struct TokenizerCase {
  std::string name;
  std::shared_ptr<const Tokenizer> tokenizer;
  /// A word of the refusal or note of an export to GGUF; empty if it loses nothing.
  std::string lost{};
};

/// A tokenizer.json of characters, "▁", and some merges. `bytes`: what is not a character becomes the tokens of its bytes.
json file_of_characters(bool bytes) {
  json vocabulary;
  const auto add = [&](const std::string& token) {
    const auto id = vocabulary.size();
    vocabulary[token] = id;
  };
  for (const char* const token :
       {"<unk>", "<s>", "</s>", "a", "b", "c", "A", "1", "2", " ", ".", "\n", "\u2581", "\u00E9", "t", "h", "e"}) {
    add(token);
  }
  for (const char* const token : {"ab", "abc", "\u2581a", "\u2581ab", "th", "the"}) {
    add(token);
  }
  for (int byte = 0; bytes && byte < 256; ++byte) {
    add(token_of_byte(static_cast<unsigned char>(byte)));
  }
  json added = json::array();
  for (int id = 0; id < 3; ++id) {
    const char* const content[] = {"<unk>", "<s>", "</s>"};
    added.push_back({{"id", id}, {"content", content[id]}, {"special", true}, {"normalized", false}});
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", bytes},
            {"vocab", vocabulary},
            {"merges", {"\u2581 a", "a b", "\u2581a b", "\u2581 ab", "ab c", "t h", "th e"}}}}};
}

/// As Llama 2's or Gemma's.
json sentence_piece_file(bool prefix) {
  json file = file_of_characters(true);
  json steps = json::array({{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}});
  json decoders = json::parse(R"([{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}])");
  if (prefix) {
    steps.insert(steps.begin(), json{{"type", "Prepend"}, {"prepend", "\u2581"}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  file["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  return file;
}

/// A tokenizer.json of bytes that are split by `steps`.
json file_of_bytes(const json& steps, bool ignore_merges) {
  json vocabulary;
  for (const unsigned char byte : byte_level::kOrder) {
    vocabulary[byte_level::to_text(std::string(1, static_cast<char>(byte)))] = vocabulary.size();
  }
  for (const char* const token : {"th", "the", "\u0120the", "12", "ab"}) {
    vocabulary[token] = vocabulary.size();
  }
  json all = steps;
  all.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  return {{"version", "1.0"},
          {"added_tokens", {{{"id", vocabulary.size()}, {"content", "<s>"}, {"special", true}, {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", all}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", nullptr},
            {"ignore_merges", ignore_merges},
            {"vocab", vocabulary},
            {"merges", {"t h", "th e", "\u0120 the", "1 2", "a b"}}}}};
}

json split_at(const char* regex) {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}

/// Byte-level BPE with a merge that no piece reaches: " x" is a token only with ignore_merges, as no merge leads to it.
std::shared_ptr<const Tokenizer> byte_level_bpe(Splitter splitter, bool nfc, bool ignore_merges, const AddedToken& added) {
  std::vector<std::string> tokens;
  for (const unsigned char byte : byte_level::kOrder) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  const auto id = [&](std::string_view text) { return static_cast<Token>(std::find(tokens.begin(), tokens.end(), text) - tokens.begin()); };
  tokens.insert(tokens.end(), {"th", "the"});
  std::vector<Merge> merges{{id("t"), id("h")}, {id("th"), id("e")}};
  if (ignore_merges) {
    tokens.emplace_back("ab");
  }
  const auto end = static_cast<Token>(tokens.size());
  AddedTokens all{{end, {.name = "<|endoftext|>"}}, {end + 1, {.name = "<s>"}}};
  if (!added.name.empty()) {
    all.emplace(end + 2, added);
  }
  return std::make_shared<BpeTokenizer>(BpeVocabulary{.bpe = Bpe(std::move(tokens), std::move(merges), ignore_merges),
                                                      .added_tokens = std::move(all),
                                                      .splitter = splitter,
                                                      .nfc = nfc,
                                                      .text_tokens = {.bos = end + 1, .before = end + 1}});
}

std::vector<TokenizerCase> tokenizers() {
  std::vector<TokenizerCase> all;
  // The tests' files.
  for (const char* const file : {"tokenizer.json", "vocab.bpe", "splitters/llama3.json", "splitters/qwen2.json", "splitters/smollm.json"}) {
    all.push_back({file, read_tokenizer_file((kGolden / "tokenizer" / file).string())});
  }
  // Characters, bytes, and byte-level BPE of every rule.
  all.push_back({"char", std::make_shared<CharTokenizer>(U"\n !'.0123abcehst")});
  all.push_back({"char beyond ASCII", std::make_shared<CharTokenizer>(U"\n !'.0123abcehst\u00E9\u2581"), "\u00E9"});
  // Given strings.
  for (const SymbolSplit split : {SymbolSplit::spaces, SymbolSplit::longest}) {
    std::vector<std::string> symbols = completed({"the", "a", "ab", "abc", "b", "1", "12", "!", "t", "h", "e", "x"});
    all.push_back({concat("symbols ", name_of(split)), std::make_shared<PipelineTokenizer>(symbol_pipeline(std::move(symbols), split)),
                   split == SymbolSplit::spaces ? "--split longest" : ""});
  }
  all.push_back({"byte", std::make_shared<ByteTokenizer>()});
  for (const std::string_view name : Names<Splitter>::of) {
    const Splitter splitter = *value_named<Splitter>(name);
    const bool usual_nfc = facts_of(splitter).nfc;
    for (const bool nfc : {false, true}) {
      for (const bool ignore : {false, true}) {
        const bool has_name = splitter == Splitter::llama3 || !ignore;
        all.push_back({concat(name, nfc ? " nfc" : "", ignore ? " ignore_merges" : ""), byte_level_bpe(splitter, nfc, ignore, {}),
                       !has_name          ? "ignore_merges"
                       : nfc != usual_nfc ? "NFC"
                                          : ""});
      }
    }
  }
  // Each flag of an added token.
  for (const bool special : {false, true}) {
    const AddedToken plain{.name = "<x>", .special = special};
    std::vector<std::pair<std::string, AddedToken>> flags(5, {"", plain});
    flags[1] = {"lstrip", plain}, flags[1].second.lstrip = true;
    flags[2] = {"rstrip", plain}, flags[2].second.rstrip = true;
    flags[3] = {"single_word", plain}, flags[3].second.single_word = true;
    flags[4].second.normalized = true;  // without a normalizer that changes its name
    for (const auto& [flag, token] : flags) {
      all.push_back({concat("added ", special, ' ', flag), byte_level_bpe(Splitter::gpt2, false, false, token), flag.empty() ? "" : "<x>"});
    }
  }
  // Every other kind of BPE.
  const auto add = [&](const std::string& name, const json& file, const std::string& lost) {
    all.push_back({name, std::shared_ptr<const Tokenizer>(tokenizer_from_json(file.dump())), lost});
  };
  for (const bool prefix : {false, true}) {
    const json file = sentence_piece_file(prefix);
    const auto with = [&](const char* key, const json& value) {
      json changed = file;
      changed["added_tokens"].push_back(
          {{"id", file["model"]["vocab"].size()}, {"content", "<x>"}, {"special", false}, {"normalized", false}});
      changed["added_tokens"].back()[key] = value;
      return changed;
    };
    add(concat("sentence piece ", prefix), file, "");
    add(concat("sentence piece with a token ", prefix), with("special", false), "");
    add(concat("sentence piece lstrip ", prefix), with("lstrip", true), "<x>");
    add(concat("sentence piece normalized ", prefix), with("normalized", true), prefix ? "<x>" : "");
    json unlike = file;  // the merges of one token do not follow each other
    unlike["model"]["merges"] = {"\u2581 a", "a b", "\u2581a b", "ab c", "t h", "th e", "\u2581 ab"};
    add(concat("sentence piece of unlike ranks ", prefix), unlike, "\u2581ab");
    json missing = file;
    missing["model"]["merges"] = {"\u2581 a", "a b", "\u2581 ab", "ab c", "t h", "th e"};
    add(concat("sentence piece without a merge ", prefix), missing, "\u2581ab");
  }
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  add("deepseek-coder",
      file_of_bytes({split_at("[\r\n]"), split_at("\\s?\\p{L}+"), split_at("\\s?\\p{P}+"),
                     split_at("[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"), digits},
                    false),
      "");
  add("bytes of an unknown rule", file_of_bytes({split_at("[\r\n]"), digits}, false), "pre_tokenizer");
  const json space = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", true}};
  const json steps[] = {{{"type", "Whitespace"}},
                        {{"type", "WhitespaceSplit"}},
                        {{"type", "Punctuation"}},
                        digits,
                        space,
                        {{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}, space}}}};
  for (const json& step : steps) {
    json file = file_of_characters(false);
    file["pre_tokenizer"] = step;
    add(step.dump(), file, "pre_tokenizer");
  }
  for (const char* const normalizer : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}) {
    json file = file_of_characters(false);
    file["normalizer"] = {{"type", normalizer}};
    add(normalizer, file, "normalizer");
  }
  return all;
}

TEST(Tokenizers, KeepTheirIdsOrNoteWhatIsLost) {
  const TemporaryFolder to;
  const std::vector<std::string> texts = odd_texts();
  int number = 0;
  for (const TokenizerCase& one : tokenizers()) {
    SCOPED_TRACE(one.name);
    const std::vector<IdsAndText> own = readings_of(*one.tokenizer, texts);
    EXPECT_EQ(difference(own, readings_of(*tokenizer_from_json(one.tokenizer->to_json()), texts), texts), "") << "in a run";
    LanguageModel model({.n_layer = 1, .n_head = 1, .n_embd = 4, .block_size = 4, .vocab_size = one.tokenizer->vocab_size()},
                        one.tokenizer->vocab_size());
    model.parameters().allocate(0);
    const ModelToExport out{.config = model.config(), .parameters = model.parameters(), .tokenizer = *one.tokenizer};
    for (const ExportFormat format : {ExportFormat::hf, ExportFormat::gguf}) {
      const bool is_kept = format == ExportFormat::hf || one.lost.empty();
      const Outcome outcome = through(out, to / concat(number++, format == ExportFormat::hf ? "" : ".gguf"), format);
      std::string said = outcome.refusal;
      for (const std::string& note : outcome.notes) {
        said += note;
      }
      if (!is_kept) {
        EXPECT_TRUE(names(said, {one.lost.c_str()}));
        continue;
      }
      EXPECT_EQ(said, "");
      ASSERT_NE(outcome.files, nullptr);
      const auto read = outcome.files->open_tokenizer();
      EXPECT_EQ(difference(own, readings_of(*read, texts), texts), "") << name_of(format);
      EXPECT_EQ(read->text_tokens(), one.tokenizer->text_tokens()) << name_of(format);
      EXPECT_EQ(read->special_tokens(), one.tokenizer->special_tokens()) << name_of(format);
    }
  }
}

}  // namespace
}  // namespace dikkat
