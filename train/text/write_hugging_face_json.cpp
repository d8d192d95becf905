#include "train/text/write_hugging_face_json.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/text/vocabulary_json.h"

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

ordered_json added_tokens_of(const BpeVocabulary& vocabulary) {
  ordered_json added = ordered_json::array();
  for (const auto& [id, token] : vocabulary.added_tokens) {
    ordered_json one{{"id", id}};
    one.update(flags_of(token));
    added.push_back(std::move(one));
  }
  return added;
}

ordered_json post_processor_of(const BpeVocabulary& vocabulary) {
  const auto [before, after] = std::pair(vocabulary.text_tokens.before, vocabulary.text_tokens.after);
  ordered_json bytes = byte_level_step(true, false, true);
  if (!before && !after) {
    return bytes;
  }
  ordered_json single = ordered_json::array();
  ordered_json pair = ordered_json::array();
  ordered_json special = ordered_json::object();
  const auto put = [&](std::optional<Token> token, int type) {
    if (token) {
      const std::string name = vocabulary.text_of(*token);
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
  ordered_json processors = ordered_json::array();
  processors.push_back(std::move(bytes));
  processors.push_back({{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}});
  return {{"type", "Sequence"}, {"processors", std::move(processors)}};
}

/// Returns the number of ids whose tokens are in "vocab". With ignore_merges a piece spelled like an added token would become that token,
/// so added tokens at the end are left out, as in Llama 3.
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
          {"added_tokens", added_tokens_of(vocabulary)},
          {"normalizer", vocabulary.nfc ? ordered_json{{"type", "NFC"}} : ordered_json()},
          {"pre_tokenizer", pre_tokenizer_of(vocabulary.splitter)},
          {"post_processor", post_processor_of(vocabulary)},
          {"decoder", byte_level_step(true, true, true)},
          {"model", model_of(vocabulary)}};
}

}  // namespace

std::string hugging_face_json(const BpeVocabulary& vocabulary) { return file_of(vocabulary).dump(); }

std::string bpe_json(const BpeVocabulary& vocabulary) {
  const TextTokens& given = vocabulary.text_tokens;
  if (!given.bos && !given.eos && given.ends.empty()) {
    return hugging_face_json(vocabulary);
  }
  return ordered_json{{"kind", "bpe"},
                      {"bos", id_or_null(given.bos)},
                      {"eos", id_or_null(given.eos)},
                      {"ends", given.ends},
                      {"tokenizer", file_of(vocabulary)}}
      .dump();
}

HuggingFaceFiles hugging_face_files(const BpeVocabulary& vocabulary, const HuggingFaceModel& model) {
  ordered_json config{{"tokenizer_class", "PreTrainedTokenizerFast"},  // uses tokenizer.json unchanged
                      {"clean_up_tokenization_spaces", false}};
  ordered_json::object_t added;
  for (const auto& [id, token] : vocabulary.added_tokens) {
    added.emplace_back(concat(id), flags_of(token));
  }
  config["added_tokens_decoder"] = std::move(added);
  ordered_json map = ordered_json::object();
  const TextTokens tokens = vocabulary.all_text_tokens();
  for (const auto& [name, id] : {std::pair("bos_token", tokens.bos), std::pair("eos_token", tokens.eos)}) {
    if (id) {
      config[name] = map[name] = vocabulary.text_of(*id);
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
  return {.tokenizer_json = hugging_face_json(vocabulary), .tokenizer_config_json = config.dump(2), .special_tokens_map_json = map.dump(2)};
}

}  // namespace dikkat
