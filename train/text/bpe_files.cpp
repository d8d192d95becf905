#include "train/text/bpe_files.h"

#include <algorithm>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/tokenizer_json.h"

namespace dikkat {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Reads the tokens of a file, in its spelling, with their ids.
class VocabularyReader {
 public:
  /// `ids` is a JSON object of ids by token. Special tokens have no bytes.
  VocabularyReader(const json& ids, std::map<Token, std::string> special_tokens) : special_tokens_(std::move(special_tokens)) {
    require_input(ids.is_object() && !ids.empty(), "tokenizer: its vocabulary is not a JSON object of ids by token");
    const auto most = static_cast<index>(ids.size() + special_tokens_.size());
    for (const auto& [text, value] : ids.items()) {
      require_input(value.is_number_integer() && value >= 0 && value < most, "tokenizer: the token \"", text, "\" has the id ",
                    value.dump(), ", expected one of 0 to ", most - 1);
      const auto id = value.get<std::size_t>();
      if (special_tokens_.contains(static_cast<Token>(id))) {
        continue;
      }
      const auto bytes = byte_level::to_bytes(text);
      require_input(bytes && !bytes->empty(), "tokenizer: the token \"", text,
                    "\" is not written in the characters of byte-level BPE, expected a vocabulary of that kind");
      tokens_.resize(std::max(tokens_.size(), id + 1));
      require_input(tokens_[id].empty(), "tokenizer: two tokens have the id ", id);
      tokens_[id] = *bytes;
      ids_.emplace(text, static_cast<Token>(id));
    }
  }

  /// The id of a token in merge number `i`. Throws InputError if it is not in the vocabulary.
  Token id_of(const std::string& text, std::size_t i) const {
    const auto found = ids_.find(text);
    require_input(found != ids_.end(), "tokenizer: merge ", i, " has the token \"", text, "\", which is not in the vocabulary");
    return found->second;
  }

  /// Throws InputError if a token of several bytes is the result of no merge. Then the file of merges was probably cut off, and texts would
  /// get other tokens.
  BpeVocabulary vocabulary(std::vector<Merge> merges) && {
    std::unordered_map<std::string_view, std::size_t> by_bytes;
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      by_bytes.emplace(tokens_[id], id);
    }
    std::vector<bool> is_made(tokens_.size());
    for (const Merge& merge : merges) {
      const auto made = by_bytes.find(tokens_[static_cast<std::size_t>(merge.left)] + tokens_[static_cast<std::size_t>(merge.right)]);
      if (made != by_bytes.end()) {
        is_made[made->second] = true;
      }
    }
    index missing = 0;
    std::size_t first = 0;
    for (std::size_t id = tokens_.size(); id-- > 0;) {
      if (tokens_[id].size() > 1 && !is_made[id]) {
        ++missing;
        first = id;
      }
    }
    require_input(missing == 0, "tokenizer: no merge gives ", missing, " of its tokens, first \"",
                  missing == 0 ? "" : byte_level::to_text(tokens_[first]), "\" (", first,
                  "); the merges may be cut off: get the whole file again");
    return {Bpe(std::move(tokens_), std::move(merges)), std::move(special_tokens_)};
  }

 private:
  std::map<Token, std::string> special_tokens_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Token> ids_;
};

/// "left right".
Merge merge_of(const VocabularyReader& vocabulary, const std::string& line, std::size_t i) {
  const std::size_t space = line.find(' ');
  require_input(space != std::string::npos && line.find(' ', space + 1) == std::string::npos, "tokenizer: merge ", i, " is \"", line,
                "\", expected two tokens with a space between");
  return {vocabulary.id_of(line.substr(0, space), i), vocabulary.id_of(line.substr(space + 1), i)};
}

std::string text_of(const BpeVocabulary& vocabulary, Token id) {
  const auto special = vocabulary.special_tokens.find(id);
  return special != vocabulary.special_tokens.end() ? special->second
                                                    : byte_level::to_text(vocabulary.bpe.tokens()[static_cast<std::size_t>(id)]);
}

ordered_json ids_by_token(const BpeVocabulary& vocabulary) {
  ordered_json::object_t ids;  // in the order of ids; filled directly, as operator[] searches linearly
  for (Token id = 0; id < vocabulary.size(); ++id) {
    ids.emplace_back(text_of(vocabulary, id), id);
  }
  return ids;
}

std::vector<std::string> merge_lines(const BpeVocabulary& vocabulary) {
  std::vector<std::string> lines;
  for (const Merge& merge : vocabulary.bpe.merges()) {
    lines.push_back(text_of(vocabulary, merge.left) + ' ' + text_of(vocabulary, merge.right));
  }
  return lines;
}

/// Whether the field is absent, null, or has its neutral value.
bool is_neutral(const json& object, const char* name, const json& neutral) {
  const auto field = object.find(name);
  return field == object.end() || field->is_null() || *field == neutral;
}

std::string type_of(const json& object) {
  return object.is_object() && object.contains("type") && object["type"].is_string() ? object["type"].get<std::string>()
                                                                                     : object.dump().substr(0, 60);
}

void require_gpt2_rules(const json& file, const json& model) {
  const auto refuse = [](const auto&... parts) {
    fail_input("tokenizer: ", parts..., "; only byte-level BPE with GPT-2's rules is supported");
  };
  if (!is_neutral(file, "normalizer", nullptr)) {
    refuse("it changes the text before splitting it (normalizer ", type_of(file["normalizer"]), ")");
  }
  const auto pre_tokenizer = file.find("pre_tokenizer");
  if (pre_tokenizer == file.end() || type_of(*pre_tokenizer) != "ByteLevel") {
    refuse("it splits the text by another rule (pre_tokenizer ", pre_tokenizer == file.end() ? "absent" : type_of(*pre_tokenizer),
           ", expected ByteLevel)");
  }
  if (!is_neutral(*pre_tokenizer, "add_prefix_space", false) || !is_neutral(*pre_tokenizer, "use_regex", true)) {
    refuse("its pre_tokenizer puts a space before the text, or does not split it");
  }
  if (model.contains("type") && model["type"] != "BPE") {
    refuse("its model is ", type_of(model), ", expected BPE");
  }
  for (const auto& [name, neutral] : {std::pair<const char*, json>{"dropout", 0.0},
                                      {"continuing_subword_prefix", ""},
                                      {"end_of_word_suffix", ""},
                                      {"byte_fallback", false},
                                      {"ignore_merges", false}}) {
    if (!is_neutral(model, name, neutral)) {
      refuse("its model has ", name, " ", model[name].dump());
    }
  }
}

}  // namespace

index BpeVocabulary::size() const {
  const auto of_text = static_cast<index>(bpe.tokens().size());
  return special_tokens.empty() ? of_text : std::max<index>(of_text, special_tokens.rbegin()->first + index{1});
}

std::string hugging_face_json(const BpeVocabulary& vocabulary) {
  ordered_json added = ordered_json::array();
  for (const auto& [id, name] : vocabulary.special_tokens) {
    added.push_back({{"id", id},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", true},
                     {"special", true}});
  }
  const auto byte_level = [](bool prefix, bool trim) {
    return ordered_json{{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trim}, {"use_regex", true}};
  };
  const ordered_json file{{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", std::move(added)},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", byte_level(false, true)},
                          {"post_processor", byte_level(true, false)},
                          {"decoder", byte_level(true, true)},
                          {"model",
                           {{"type", "BPE"},
                            {"dropout", nullptr},
                            {"unk_token", nullptr},
                            {"continuing_subword_prefix", ""},
                            {"end_of_word_suffix", ""},
                            {"fuse_unk", false},
                            {"byte_fallback", false},
                            {"vocab", ids_by_token(vocabulary)},
                            {"merges", merge_lines(vocabulary)}}}};
  return file.dump();
}

BpeVocabulary from_hugging_face_json(std::string_view text) {
  const json file = parse_tokenizer(text);
  const auto model = file.find("model");
  require_input(model != file.end() && model->is_object(), "tokenizer: it has no field \"model\", expected a tokenizer.json");
  require_gpt2_rules(file, *model);

  std::map<Token, std::string> special_tokens;
  for (const json& token : file.value("added_tokens", json::array())) {
    require_input(token.is_object() && token.contains("id") && token["id"].is_number_integer() && token["id"] >= 0 &&
                      token["id"] < (1 << 30) && token.contains("content") && token["content"].is_string(),
                  "tokenizer: an added token is ", token.dump().substr(0, 60), ", expected an object with id and content");
    special_tokens.emplace(token["id"].get<Token>(), token["content"].get<std::string>());
  }
  VocabularyReader vocabulary(model->value("vocab", json()), std::move(special_tokens));
  const json& lines = model->value("merges", json());
  require_input(lines.is_array(), "tokenizer: its merges are not a JSON array");
  std::vector<Merge> merges;
  merges.reserve(lines.size());
  for (const json& line : lines) {
    const bool is_pair = line.is_array() && line.size() == 2 && line[0].is_string() && line[1].is_string();
    require_input(is_pair || line.is_string(), "tokenizer: merge ", merges.size(), " is ", line.dump().substr(0, 60),
                  ", expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]");
    merges.push_back(is_pair ? Merge{vocabulary.id_of(line[0].get<std::string>(), merges.size()),
                                     vocabulary.id_of(line[1].get<std::string>(), merges.size())}
                             : merge_of(vocabulary, line.get<std::string>(), merges.size()));
  }
  return std::move(vocabulary).vocabulary(std::move(merges));
}

Gpt2Files gpt2_files(const BpeVocabulary& vocabulary) {
  Gpt2Files files{.vocab_bpe = "#version: 0.2\n", .encoder_json = ids_by_token(vocabulary).dump(-1, ' ', true)};
  for (const std::string& line : merge_lines(vocabulary)) {
    files.vocab_bpe += line + '\n';
  }
  return files;
}

BpeVocabulary from_gpt2_files(const Gpt2Files& files) {
  const json ids = parse_tokenizer(files.encoder_json);
  std::map<Token, std::string> special_tokens;
  if (const auto end = ids.find(kEndOfText); end != ids.end() && end->is_number_integer() && *end >= 0 && *end < (1 << 30)) {
    special_tokens.emplace(end->get<Token>(), kEndOfText);
  }
  VocabularyReader vocabulary(ids, std::move(special_tokens));
  std::vector<Merge> merges;
  std::string_view rest = files.vocab_bpe;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    if (!line.empty() && !(first && line.starts_with("#version"))) {
      merges.push_back(merge_of(vocabulary, line, merges.size()));
    }
  }
  require_input(!merges.empty(), "tokenizer: its file of merges is empty, expected a merge on each line");
  return std::move(vocabulary).vocabulary(std::move(merges));
}

}  // namespace dikkat
