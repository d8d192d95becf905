#include "train/text/read_hugging_face_json.h"

#include <algorithm>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/tokenizer_json.h"
#include "train/text/utf8.h"
#include "train/text/vocabulary_json.h"

namespace dikkat {
namespace {

using nlohmann::json;

// In these functions `where` is the path of a field in the file, for messages.

std::string shown(const json& value) {
  constexpr std::size_t kMost = 300;
  const std::string text = value.dump();
  return text.size() <= kMost ? text : concat(text.substr(0, static_cast<std::size_t>(utf8::snap(text, kMost))), "...");
}

[[noreturn]] void refuse(const std::string& where, const json& value, std::string_view expected) {
  fail_input("tokenizer: its ", where, " is ", shown(value), ", expected ", expected, "; with other values the ids may differ");
}

/// Returns the field, or null if it is missing.
const json& field(const json& object, std::string_view name) {
  static const json null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string in(const std::string& where, const char* name) { return concat(where, where.empty() ? "" : ".", name); }

/// Throws InputError for an unknown field, which may change ids, unless its value is empty.
void require_known(const json& object, const std::string& where, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : object.items()) {
    require_input(is_nothing(value) || std::find(names.begin(), names.end(), name) != names.end(), "tokenizer: its ", where,
                  where.empty() ? "" : " ", "has the field \"", name, "\" (", shown(value), "), which this program does not know");
  }
}

bool flag(const json& object, const std::string& where, const char* name, bool by_default) {
  const json& value = field(object, name);
  if (!value.is_null() && !value.is_boolean()) {
    refuse(in(where, name), value, "true or false");
  }
  return value.is_null() ? by_default : value.get<bool>();
}

void require_flag(const json& object, const std::string& where, const char* name, bool expected) {
  if (flag(object, where, name, expected) != expected) {
    refuse(in(where, name), object[name], expected ? "true" : "false");
  }
}

std::string type_of(const json& object) {
  const json& type = object.is_object() ? field(object, "type") : object;
  return type.is_string() ? type.get<std::string>() : "";
}

/// Returns the steps of a "Sequence", or the only step.
std::vector<json> steps_of(const json& step, const std::string& where, const char* name) {
  if (step.is_null()) {
    return {};
  }
  if (type_of(step) != "Sequence") {
    return {step};
  }
  require_known(step, where, {"type", name});
  const json& steps = field(step, name);
  if (!steps.is_array()) {
    refuse(in(where, name), steps, "an array");
  }
  return steps.get<std::vector<json>>();
}

void require_known_byte_level(const json& step, const std::string& where) {
  require_known(step, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

bool has_nfc(const json& normalizer) {
  bool nfc = false;
  for (const json& step : steps_of(normalizer, "normalizer", "normalizers")) {
    if (type_of(step) != "NFC") {
      refuse("normalizer", normalizer, "null or {\"type\":\"NFC\"}");
    }
    require_known(step, "normalizer", {"type"});
    nfc = true;
  }
  return nfc;
}

std::string regex_of(const json& split, const std::string& where) {
  require_known(split, where, {"type", "pattern", "behavior", "invert"});
  const json& pattern = field(split, "pattern");
  if (!pattern.is_object() || pattern.size() != 1 || !field(pattern, "Regex").is_string()) {
    refuse(in(where, "pattern"), pattern, "{\"Regex\": ...}");
  }
  if (field(split, "behavior") != "Isolated") {
    refuse(in(where, "behavior"), field(split, "behavior"), "\"Isolated\"");
  }
  require_flag(split, where, "invert", false);
  return pattern["Regex"].get<std::string>();
}

Splitter splitter_of(const json& pre_tokenizer) {
  const std::string where = "pre_tokenizer";
  constexpr std::string_view kExpected = "ByteLevel, after Digits or Split where it is a Sequence";
  const std::vector<json> steps = steps_of(pre_tokenizer, where, "pretokenizers");
  bool splits_digits = false;
  std::optional<std::string> regex;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string type = type_of(steps[i]);
    const bool is_last = i + 1 == steps.size();
    if (type == "Digits" && i == 0 && !is_last) {
      require_known(steps[i], where, {"type", "individual_digits"});
      if (!flag(steps[i], where, "individual_digits", false)) {
        refuse(in(where, "individual_digits"), field(steps[i], "individual_digits"), "true");
      }
      splits_digits = true;
    } else if (type == "Split" && !regex && !is_last) {
      regex = regex_of(steps[i], where);
    } else if (type == "ByteLevel" && is_last) {
      require_known_byte_level(steps[i], where);
      require_flag(steps[i], where, "add_prefix_space", false);
      if (flag(steps[i], where, "use_regex", true) == regex.has_value()) {
        refuse(where, pre_tokenizer, "one rule to split by: a Split, or ByteLevel with use_regex");
      }
    } else {
      refuse(where, pre_tokenizer, kExpected);
    }
  }
  if (steps.empty()) {
    refuse(where, pre_tokenizer, kExpected);
  }
  for (std::size_t i = 0; i < std::size(Names<Splitter>::of); ++i) {
    const auto splitter = static_cast<Splitter>(i);
    if (facts_of(splitter).splits_digits == splits_digits &&
        facts_of(splitter).regex == regex.value_or(std::string(facts_of(Splitter::gpt2).regex))) {
      return splitter;
    }
  }
  refuse(where, pre_tokenizer, concat("the rule of one of ", all_names<Splitter>()));
}

AddedTokens added_tokens_from(const json& list) {
  AddedTokens tokens;
  if (!list.is_null() && !list.is_array()) {
    refuse("added_tokens", list, "an array");
  }
  for (const json& token : list) {
    const std::string where = "added_tokens";
    require_input(token.is_object() && field(token, "id").is_number_integer() && token["id"] >= 0 && token["id"] < (1 << 30) &&
                      field(token, "content").is_string(),
                  "tokenizer: an added token is ", shown(token), ", expected an object with id and content");
    require_known(token, where, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const bool special = flag(token, where, "special", false);
    const bool is_new = tokens
                            .emplace(token["id"].get<Token>(), AddedToken{.name = token["content"].get<std::string>(),
                                                                          .special = special,
                                                                          .normalized = flag(token, where, "normalized", !special),
                                                                          .lstrip = flag(token, where, "lstrip", false),
                                                                          .rstrip = flag(token, where, "rstrip", false),
                                                                          .single_word = flag(token, where, "single_word", false)})
                            .second;
    require_input(is_new, "tokenizer: two added tokens have the id ", token["id"].get<Token>());
  }
  return tokens;
}

/// Throws InputError for added tokens with ids that Hugging Face's library would ignore: it gives those that are not in the vocabulary the
/// next ids after it.
void require_owners_ids(const json& list, const VocabularyReader& vocabulary, std::size_t in_vocabulary) {
  auto next = static_cast<index>(in_vocabulary);
  for (const json& token : list) {
    if (const auto name = token["content"].get<std::string>(); !vocabulary.contains(name)) {
      require_input(token["id"] == next, "tokenizer: the added token \"", name, "\" has the id ", token["id"].get<index>(), ", expected ",
                    next, ", the next id after the vocabulary, which Hugging Face's library gives it");
      ++next;
    }
  }
}

Merge merge_from(const VocabularyReader& vocabulary, const json& merge, std::size_t i) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return vocabulary.merge_of(merge[0].get<std::string>(), merge[1].get<std::string>(), i);
  }
  require_input(merge.is_string(), "tokenizer: merge ", i, " is ", shown(merge), ", expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]");
  return vocabulary.merge_of(merge.get<std::string>(), i);
}

Bpe bpe_from(const json& model, const json& added_list, const AddedTokens& added_tokens) {
  require_known(model, "model",
                {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
                 "ignore_merges", "vocab", "merges"});
  if (model.contains("type") && model["type"] != "BPE") {
    refuse("model.type", model["type"], "\"BPE\"");
  }
  // unk_token and fuse_unk are ignored: they are for bytes without a token, and texts with such bytes are refused.
  if (const json& dropout = field(model, "dropout"); !dropout.is_null() && dropout != 0.0) {
    refuse("model.dropout", dropout, "null");
  }
  for (const char* const name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!field(model, name).is_null() && field(model, name) != "") {
      refuse(in("model", name), model[name], "\"\"");
    }
  }
  require_flag(model, "model", "byte_fallback", false);

  const json& ids = field(model, "vocab");
  VocabularyReader vocabulary(ids, added_tokens);
  require_owners_ids(added_list, vocabulary, ids.size());
  const json& lines = field(model, "merges");
  require_input(lines.is_array(), "tokenizer: its merges are not a JSON array");
  std::vector<Merge> merges;
  merges.reserve(lines.size());
  for (const json& line : lines) {
    merges.push_back(merge_from(vocabulary, line, merges.size()));
  }
  return std::move(vocabulary).bpe(std::move(merges), flag(model, "model", "ignore_merges", false));
}

/// Returns the token of a template's item {"SpecialToken": {"id": NAME}}.
Token token_of(const json& item, const json& processor, const AddedTokens& added_tokens) {
  const json& name = item["SpecialToken"].is_object() ? field(item["SpecialToken"], "id") : item["SpecialToken"];
  const json& tokens = field(processor, "special_tokens");
  const json& token = name.is_string() && tokens.is_object() ? field(tokens, name.get<std::string>()) : tokens;
  const json& ids = token.is_object() ? field(token, "ids") : token;
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_integer() || ids[0] < 0 || ids[0] >= (1 << 30) ||
      !added_tokens.contains(ids[0].get<Token>())) {
    refuse("post_processor", item, "the name of an added token, with its id in special_tokens");
  }
  return ids[0].get<Token>();
}

/// Returns the tokens that the template {"single": [before, {"Sequence": {"id": "A"}}, after]} puts around a text.
TextTokens template_of(const json& processor, const AddedTokens& added_tokens) {
  constexpr std::string_view kExpected = "at most one token before the text and one after it";
  require_known(processor, "post_processor", {"type", "single", "pair", "special_tokens"});
  TextTokens around;
  bool has_text = false;
  const json& items = field(processor, "single");
  if (!items.is_array()) {
    refuse("post_processor.single", items, "an array");
  }
  for (const json& item : items) {
    if (!item.is_object() || item.size() != 1) {
      refuse("post_processor.single", items, kExpected);
    }
    if (item.contains("SpecialToken")) {
      std::optional<Token>& place = has_text ? around.after : around.before;
      if (place) {
        refuse("post_processor.single", items, kExpected);
      }
      place = token_of(item, processor, added_tokens);
    } else if (item.contains("Sequence") && item["Sequence"].is_object() && field(item["Sequence"], "id") == "A" && !has_text) {
      has_text = true;
    } else {
      refuse("post_processor.single", items, kExpected);
    }
  }
  if (!has_text) {
    refuse("post_processor.single", items, "the text, {\"Sequence\": {\"id\": \"A\"}}");
  }
  return around;
}

TextTokens around_from(const json& post_processor, const AddedTokens& added_tokens) {
  TextTokens around;
  bool has_template = false;
  for (const json& step : steps_of(post_processor, "post_processor", "processors")) {
    if (type_of(step) == "ByteLevel") {  // it only moves offsets
      require_known_byte_level(step, "post_processor");
    } else if (type_of(step) == "TemplateProcessing" && !has_template) {
      around = template_of(step, added_tokens);
      has_template = true;
    } else {
      refuse("post_processor", post_processor, "ByteLevel, TemplateProcessing, or a Sequence of the two");
    }
  }
  return around;
}

BpeVocabulary vocabulary_from(const json& file) {
  const json& model = field(file, "model");
  require_input(model.is_object(), "tokenizer: it has no field \"model\", expected a tokenizer.json");
  require_known(file, "",
                {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
  for (const char* const name : {"truncation", "padding"}) {
    if (!field(file, name).is_null()) {
      refuse(name, file[name], "null");
    }
  }
  if (const json& decoder = field(file, "decoder"); !decoder.is_null() && type_of(decoder) != "ByteLevel") {
    refuse("decoder", decoder, "ByteLevel");
  }
  const bool nfc = has_nfc(field(file, "normalizer"));
  const Splitter splitter = splitter_of(field(file, "pre_tokenizer"));
  AddedTokens added_tokens = added_tokens_from(field(file, "added_tokens"));
  TextTokens around = around_from(field(file, "post_processor"), added_tokens);
  Bpe bpe = bpe_from(model, field(file, "added_tokens"), added_tokens);
  return {
      .bpe = std::move(bpe), .added_tokens = std::move(added_tokens), .splitter = splitter, .nfc = nfc, .text_tokens = std::move(around)};
}

/// Classes of transformers that put their own tokens around a text: bos, unless add_bos_token is false, and eos, if add_eos_token is true.
/// They ignore the tokens that tokenizer.json puts around a text.
constexpr std::string_view kClassesWithOwnTokens[] = {"LlamaTokenizer",         "LlamaTokenizerFast", "CodeLlamaTokenizer",
                                                      "CodeLlamaTokenizerFast", "GemmaTokenizer",     "GemmaTokenizerFast",
                                                      "CohereTokenizer",        "CohereTokenizerFast"};

/// Decides which tokens stand around a text, from add_bos_token and add_eos_token in a tokenizer_config.json. text_tokens must already have
/// bos, eos and the tokens from tokenizer.json.
std::vector<std::string> settle_around(const json& config, BpeVocabulary& vocabulary) {
  const std::string name = type_of(field(config, "tokenizer_class"));
  const bool counts = std::ranges::find(kClassesWithOwnTokens, name) != std::end(kClassesWithOwnTokens);
  std::vector<std::string> notes;
  const auto settle = [&](const char* key, bool by_default, const char* token_name, const std::optional<Token>& token,
                          std::optional<Token>& place, const char* where) {
    const bool is_given = !field(config, key).is_null();
    const bool adds = flag(config, "tokenizer_config.json", key, by_default);
    if (!counts && !is_given) {
      return;
    }
    require_input(!counts || !adds || !is_given || token, "tokenizer: its tokenizer_config.json has ", key, " = true, but no ", token_name);
    const std::optional<Token> wanted = adds ? (token ? token : place) : std::nullopt;
    if (wanted == place) {
      return;
    }
    const auto shown_token = [&](std::optional<Token> one) { return one ? vocabulary.text_of(*one) : std::string("nothing"); };
    notes.push_back(concat("tokenizer.json puts ", shown_token(place), ' ', where, " a text, and tokenizer_config.json ",
                           shown_token(wanted), " (", key, " is ", adds ? "true" : "false", is_given ? "" : " by default",
                           name.empty() ? "" : concat(", class ", name), "): ", shown_token(counts ? wanted : place),
                           " is used, as in transformers 4"));
    place = counts ? wanted : place;
  };
  TextTokens& around = vocabulary.text_tokens;
  settle("add_bos_token", counts, "bos_token", around.bos, around.before, "before");
  settle("add_eos_token", false, "eos_token", around.eos, around.after, "after");
  return notes;
}

// The object around a tokenizer.json.

std::optional<Token> id_from(const JsonFields& fields, const char* name) {
  const auto id = fields.integer(name, 0, (1 << 30) - 1);
  return id ? std::optional(static_cast<Token>(*id)) : std::nullopt;
}

}  // namespace

BpeVocabulary from_hugging_face_json(std::string_view text) { return vocabulary_from(parse_tokenizer(text)); }

BpeVocabulary from_bpe_json(std::string_view text) { return bpe_vocabulary_in(tokenizer_fields(parse_tokenizer(text))); }

BpeVocabulary bpe_vocabulary_in(const JsonFields& fields) {
  const json& object = fields.object();
  if (object.contains("model")) {
    return vocabulary_from(object);
  }
  fields.require_exactly({"kind", "bos", "eos", "ends", "tokenizer"});
  if (!object["tokenizer"].is_object()) {
    fields.refuse("tokenizer", "an object");
  }
  BpeVocabulary vocabulary = vocabulary_from(object["tokenizer"]);
  vocabulary.text_tokens.bos = id_from(fields, "bos");
  vocabulary.text_tokens.eos = id_from(fields, "eos");
  const json& ends = object["ends"];
  if (!ends.is_array() || !std::ranges::all_of(ends, [](const json& id) { return id.is_number_integer() && id >= 0 && id < (1 << 30); })) {
    fields.refuse("ends", "an array of ids");
  }
  vocabulary.text_tokens.ends = ends.get<std::vector<Token>>();
  return vocabulary;
}

std::vector<std::string> read_tokenizer_config(std::string_view text, BpeVocabulary& vocabulary) {
  const json config = parse_tokenizer(text);
  if (const json& added = field(config, "added_tokens_decoder"); added.is_object()) {
    for (const auto& [id, token] : added.items()) {
      const json& name = token.is_object() ? field(token, "content") : token;
      const auto known = name.is_string() ? vocabulary.added_token(name.get<std::string>()) : std::nullopt;
      require_input(known && concat(*known) == id, "tokenizer: its tokenizer_config.json adds the token ", shown(name), " with the id ", id,
                    ", which tokenizer.json does not have");
    }
  }
  require_flag(config, "tokenizer_config.json", "add_prefix_space", false);
  for (auto [name, place] : {std::pair("bos_token", &vocabulary.text_tokens.bos), std::pair("eos_token", &vocabulary.text_tokens.eos)}) {
    const json& value = field(config, name);
    const json& content = value.is_object() ? field(value, "content") : value;
    if (content.is_null()) {
      continue;
    }
    require_input(content.is_string(), "tokenizer: the field \"", name, "\" of its tokenizer_config.json is ", shown(value),
                  ", expected the name of a token");
    const auto id = vocabulary.added_token(content.get<std::string>());
    require_input(id.has_value(), "tokenizer: its tokenizer_config.json has the ", name, ' ', shown(content),
                  ", which is not an added token of tokenizer.json");
    *place = id;
  }
  std::vector<std::string> notes = settle_around(config, vocabulary);
  // Tokens that follow from tokenizer.json need not be kept.
  const TextTokens said = vocabulary.text_tokens;
  const TextTokens all = vocabulary.all_text_tokens();
  vocabulary.text_tokens = {.before = said.before, .after = said.after};
  if (vocabulary.all_text_tokens() != all) {
    vocabulary.text_tokens = said;
  }
  return notes;
}

}  // namespace dikkat
