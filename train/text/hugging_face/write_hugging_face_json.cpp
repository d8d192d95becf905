#include "train/text/hugging_face/write_hugging_face_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/hugging_face/vocabulary_json.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

ordered_json byte_level_step(bool prefix, bool trim, bool split) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trim}, {"use_regex", split}};
}

ordered_json pre_tokenizer_of(Splitter splitter) {
  const SplitterFacts& facts = facts_of(splitter);
  const bool is_gpt2 = facts.regex == facts_of(Splitter::gpt2).regex;  // the one that ByteLevel itself has
  ordered_json steps = ordered_json::array();
  if (facts.splits_digits) {
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  if (!is_gpt2) {
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", facts.regex}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  steps.push_back(byte_level_step(false, is_gpt2, is_gpt2));
  return steps.size() == 1 ? steps.front() : ordered_json{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

ordered_json flags_of(const AddedToken& token) {
  return {{"content", token.name},  {"single_word", token.single_word}, {"lstrip", token.lstrip},
          {"rstrip", token.rstrip}, {"normalized", token.normalized},   {"special", token.special}};
}

ordered_json added_tokens_of(const AddedTokens& tokens) {
  ordered_json added = ordered_json::array();
  for (const auto& [id, token] : tokens) {
    ordered_json one{{"id", id}};
    one.update(flags_of(token));
    added.push_back(std::move(one));
  }
  return added;
}

/// Returns the step that puts tokens around a text, which are added tokens; null if there are none.
ordered_json template_of(const TextTokens& around, const AddedTokens& added) {
  const auto [before, after] = std::pair(around.before, around.after);
  if (!before && !after) {
    return nullptr;
  }
  ordered_json single = ordered_json::array();
  ordered_json pair = ordered_json::array();
  ordered_json special = ordered_json::object();
  const auto put = [&](std::optional<Token> token, int type) {
    if (token) {
      const std::string& name = added.at(*token).name;
      const ordered_json item{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
      pair.push_back(item);
      if (type == 0) {
        single.push_back(item);
      }
      special[name] = {{"id", name}, {"ids", {*token}}, {"tokens", {name}}};
    }
  };
  const auto put_text = [&](const char* text, int type) {
    pair.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
    if (type == 0) {
      single.push_back(pair.back());
    }
  };
  for (const int type : {0, 1}) {
    put(before, type);
    put_text(type == 0 ? "A" : "B", type);
    put(after, type);
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

ordered_json post_processor_of(const BpeVocabulary& vocabulary) {
  ordered_json bytes = byte_level_step(true, false, true);
  ordered_json around = template_of(vocabulary.text_tokens, vocabulary.added_tokens);
  if (around.is_null()) {
    return bytes;
  }
  ordered_json processors = ordered_json::array();
  processors.push_back(std::move(bytes));
  processors.push_back(std::move(around));
  return {{"type", "Sequence"}, {"processors", std::move(processors)}};
}

/// Returns the number of ids whose tokens are in "vocab". With ignore_merges a piece spelled like an added token would become that token.
/// So added tokens at the end are left out, as in Llama 3.
index ids_in_vocabulary(const BpeVocabulary& vocabulary) {
  return vocabulary.bpe.ignores_merges() ? static_cast<index>(vocabulary.bpe.tokens().size()) : vocabulary.size();
}

ordered_json model_of(const BpeVocabulary& vocabulary) {
  std::vector<std::string> merges;
  for (const auto& [left, right] : vocabulary.merge_texts()) {
    merges.push_back(concat(left, ' ', right));
  }
  ordered_json model{
      {"type", "BPE"},     {"dropout", nullptr},    {"unk_token", nullptr}, {"continuing_subword_prefix", ""}, {"end_of_word_suffix", ""},
      {"fuse_unk", false}, {"byte_fallback", false}};
  if (vocabulary.bpe.ignores_merges()) {
    model["ignore_merges"] = true;
  }
  model["vocab"] = ids_by_token(vocabulary, ids_in_vocabulary(vocabulary));
  model["merges"] = std::move(merges);
  return model;
}

ordered_json id_or_null(std::optional<Token> id) { return id ? ordered_json(*id) : ordered_json(); }

ordered_json file_of(const BpeVocabulary& vocabulary) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens_of(vocabulary.added_tokens)},
          {"normalizer", vocabulary.nfc ? ordered_json{{"type", "NFC"}} : ordered_json()},
          {"pre_tokenizer", pre_tokenizer_of(vocabulary.splitter)},
          {"post_processor", post_processor_of(vocabulary)},
          {"decoder", byte_level_step(true, true, true)},
          {"model", model_of(vocabulary)}};
}

}  // namespace

std::string hugging_face_json(const BpeVocabulary& vocabulary) { return file_of(vocabulary).dump(); }

namespace {

/// Returns the text of an object around a tokenizer.json, for tokens that it cannot express.
std::string around_file(const TextTokens& given, const std::string& file) {
  const auto ids = [](const auto& value) { return ordered_json(value).dump(); };
  return concat(R"({"kind":"bpe","bos":)", id_or_null(given.bos).dump(), R"(,"eos":)", id_or_null(given.eos).dump(), R"(,"ends":)",
                ids(given.ends), R"(,"tokenizer":)", file, '}');
}

bool is_in_file(const TextTokens& given) { return !given.bos && !given.eos && given.ends.empty(); }

/// Appends a string as JSON.
void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\u00";
      out += kHex[static_cast<std::size_t>(c) >> 4];
      out += kHex[static_cast<std::size_t>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

/// Returns "vocab" of a model, with its name and without unused ids. There may be a million parts, so they never become values of JSON.
std::string tokens_of(const CharacterBpe& bpe) {
  std::string out = R"("vocab":{)";
  bool is_first = true;
  for (std::size_t id = 0; id < bpe.tokens().size(); ++id) {
    if (!bpe.tokens()[id].empty()) {
      out += is_first ? "" : ",";
      append_text(out, bpe.tokens()[id]);
      out += concat(':', id);
      is_first = false;
    }
  }
  return out + '}';
}

/// Does the same for "merges", each as one string, or as a pair if some token has a space.
std::string merges_of(const CharacterBpe& bpe) {
  std::string out = R"("merges":[)";
  const auto side = [&](Token id) -> const std::string& { return bpe.tokens()[static_cast<std::size_t>(id)]; };
  const auto has_space = [](const std::string& text) { return text.find(' ') != std::string::npos; };
  const bool as_pairs =
      std::ranges::any_of(bpe.merges(), [&](Merge merge) { return has_space(side(merge.left)) || has_space(side(merge.right)); });
  std::string line;
  for (std::size_t i = 0; i < bpe.merges().size(); ++i) {
    const auto [left, right] = bpe.merges()[i];
    out += i == 0 ? "" : ",";
    if (as_pairs) {
      out += '[';
      append_text(out, side(left));
      out += ',';
      append_text(out, side(right));
      out += ']';
    } else {
      line.assign(side(left)).append(" ").append(side(right));
      append_text(out, line);
    }
  }
  return out + ']';
}

std::string file_of(const BpePipeline& contents) {
  const CharacterBpe& bpe = *contents.bpe;
  const CharacterBpeRules& rules = bpe.rules();
  const ordered_json unknown = rules.unknown ? ordered_json(bpe.tokens()[static_cast<std::size_t>(*rules.unknown)]) : ordered_json();
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  // A WordLevel must have unk_token. If the vocabulary does not have it, texts with unknown symbols are refused.
  const std::string model =
      rules.symbols ? concat(R"("WordLevel","unk_token":)", json_text(rules.unknown ? unknown : ordered_json("")), ',', tokens_of(bpe))
                    : concat(R"("BPE","dropout":null,"unk_token":)", json_text(unknown),
                             R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":)", flag(rules.fuse_unknown),
                             R"(,"byte_fallback":)", flag(rules.byte_fallback), R"(,"ignore_merges":)", flag(rules.ignore_merges), ',',
                             tokens_of(bpe), ',', merges_of(bpe));
  const std::string pre_tokenizer =
      rules.symbols == SymbolSplit::longest ? longest_pre_tokenizer(bpe.tokens(), contents.added_tokens) : contents.pre_tokenizer;
  return concat(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)", json_text(added_tokens_of(contents.added_tokens)),
                R"(,"normalizer":)", contents.normalizer, R"(,"pre_tokenizer":)", pre_tokenizer, R"(,"post_processor":)",
                json_text(template_of(contents.text_tokens, contents.added_tokens)), R"(,"decoder":)", contents.decoder,
                R"(,"model":{"type":)", model, "}}");
}

}  // namespace

std::string bpe_json(const BpeVocabulary& vocabulary) {
  const std::string file = hugging_face_json(vocabulary);
  return is_in_file(vocabulary.text_tokens) ? file : around_file(vocabulary.text_tokens, file);
}

std::string pipeline_json(const BpePipeline& contents) {
  const std::string file = file_of(contents);
  return is_in_file(contents.text_tokens) ? file : around_file(contents.text_tokens, file);
}

namespace {

HuggingFaceFiles files_of(std::string file, const AddedTokens& added_tokens, const TextTokens& tokens, std::optional<Token> unknown,
                          const HuggingFaceModel& model) {
  ordered_json config{{"tokenizer_class", "PreTrainedTokenizerFast"},  // uses tokenizer.json unchanged
                      {"clean_up_tokenization_spaces", false}};
  ordered_json::object_t added;
  for (const auto& [id, token] : added_tokens) {
    added.emplace_back(concat(id), flags_of(token));
  }
  config["added_tokens_decoder"] = std::move(added);
  ordered_json map = ordered_json::object();
  for (const auto& [name, id] : {std::pair("bos_token", tokens.bos), std::pair("eos_token", tokens.eos), std::pair("unk_token", unknown),
                                 std::pair("pad_token", model.pads ? tokens.eos : std::nullopt)}) {
    if (id) {
      config[name] = map[name] = added_tokens.at(*id).name;
    }
  }
  // With these keys transformers 5 puts bos and eos around a text. Other tokens are only in tokenizer.json.
  if (!tokens.before || tokens.before == tokens.bos) {
    config["add_bos_token"] = tokens.before.has_value();
  }
  if (!tokens.after || tokens.after == tokens.eos) {
    config["add_eos_token"] = tokens.after.has_value();
  }
  if (model.context > 0) {
    config["model_max_length"] = model.context;
  }
  if (!model.chat_template.empty()) {
    config["chat_template"] = model.chat_template;
  }
  return {.tokenizer_json = std::move(file), .tokenizer_config_json = config.dump(2), .special_tokens_map_json = map.dump(2)};
}

}  // namespace

HuggingFaceFiles hugging_face_files(const BpeVocabulary& vocabulary, const HuggingFaceModel& model) {
  return files_of(hugging_face_json(vocabulary), vocabulary.added_tokens, vocabulary.all_text_tokens(), {}, model);
}

HuggingFaceFiles hugging_face_files(const BpePipeline& contents, const HuggingFaceModel& model) {
  const CharacterBpeRules& rules = contents.bpe->rules();
  const bool names_unknown = rules.symbols && rules.unknown && contents.added_tokens.contains(*rules.unknown);
  return files_of(file_of(contents), contents.added_tokens, all_text_tokens(contents.added_tokens, contents.text_tokens),
                  names_unknown ? rules.unknown : std::nullopt, model);
}

}  // namespace dikkat
