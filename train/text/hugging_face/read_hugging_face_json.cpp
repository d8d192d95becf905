#include "train/text/hugging_face/read_hugging_face_json.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/system/json.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/pre_tokenizer.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/hugging_face/text_normalizer.h"
#include "train/text/hugging_face/vocabulary_json.h"
#include "train/text/tokenizer_json.h"

namespace dikkat {
namespace {

using namespace hugging_face;

void require_known_byte_level(const json& step, const std::string& where) {
  require_known(step, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

/// Returns the regular expression of a Split that keeps all parts; nullopt for other steps.
std::optional<std::string> regex_of(const json& split, const std::string& where) {
  const json& pattern = field(split, "pattern");
  if (type_of(split) != "Split" || !pattern.is_object() || !field(pattern, "Regex").is_string() || field(split, "behavior") != "Isolated") {
    return std::nullopt;
  }
  require_known(split, where, {"type", "pattern", "behavior", "invert"});
  return flag(split, where, "invert", false) ? std::nullopt : std::optional(pattern["Regex"].get<std::string>());
}

/// Returns the splitter that a pre_tokenizer describes; nullopt for another rule.
std::optional<Splitter> splitter_of(const json& pre_tokenizer) {
  const std::string where = "pre_tokenizer";
  std::vector<json> steps = steps_of(pre_tokenizer, where, "pretokenizers");
  if (steps.empty() || type_of(steps.back()) != "ByteLevel" || flag(steps.back(), where, "add_prefix_space", false)) {
    return std::nullopt;
  }
  require_known_byte_level(steps.back(), where);
  const bool has_gpt2_rule = flag(steps.back(), where, "use_regex", true);
  steps.pop_back();
  bool splits_digits = false;
  if (!steps.empty() && type_of(steps.front()) == "Digits") {
    require_known(steps.front(), where, {"type", "individual_digits"});
    splits_digits = flag(steps.front(), where, "individual_digits", false);
    steps.erase(steps.begin(), steps.begin() + (splits_digits ? 1 : 0));
  }
  std::optional<std::string> regex;
  if (has_gpt2_rule && steps.empty()) {
    regex = facts_of(Splitter::gpt2).regex;
  } else if (!has_gpt2_rule && steps.size() == 1) {
    regex = regex_of(steps.front(), where);
  }
  for (std::size_t i = 0; regex && i < std::size(Names<Splitter>::of); ++i) {
    const auto splitter = static_cast<Splitter>(i);
    if (facts_of(splitter).splits_digits == splits_digits && facts_of(splitter).regex == *regex) {
      return splitter;
    }
  }
  return std::nullopt;
}

/// Returns true for the normalizer NFC, false for none, nullopt for others.
std::optional<bool> nfc_of(const json& normalizer) {
  const std::vector<json> steps = steps_of(normalizer, "normalizer", "normalizers");
  for (const json& step : steps) {
    if (type_of(step) != "NFC") {
      return std::nullopt;
    }
    require_known(step, "normalizer", {"type"});
  }
  return !steps.empty();
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

/// Throws InputError for added tokens with ids that Hugging Face's library would ignore: it numbers tokens that are not in the vocabulary
/// after it.
void require_owners_ids(const json& list, const VocabularyIds& vocabulary) {
  auto next = vocabulary.size();
  for (const json& token : list) {
    if (const auto name = token["content"].get<std::string>(); !vocabulary.contains(name)) {
      require_input(token["id"] == next, "tokenizer: the added token \"", name, "\" has the id ", token["id"].get<index>(), ", expected ",
                    next, ", the next id after the vocabulary, which Hugging Face's library gives it");
      ++next;
    }
  }
}

/// Returns whether each word is a token.
bool is_word_level(const json& model) { return type_of(model) == "WordLevel"; }

/// Throws InputError for a model of another kind than BPE or WordLevel, and for settings with which ids would differ.
void check_model(const json& model) {
  if (is_word_level(model)) {
    return require_known(model, "model", {"type", "vocab", "unk_token"});
  }
  if (const json& type = field(model, "type"); !type.is_null() && type != "BPE") {
    const std::string name = type_of(model);
    refuse("model.type", type,
           concat("\"BPE\"", name == "Unigram" ? ": texts would have to be divided by the probabilities of tokens, which is not supported"
                             : name == "WordPiece" ? ": texts would have to be divided by the longest match, which is not supported"
                                                   : ""));
  }
  require_known(model, "model",
                {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
                 "ignore_merges", "vocab", "merges"});
  if (const json& dropout = field(model, "dropout"); !dropout.is_null() && dropout != 0.0) {
    refuse("model.dropout", dropout, "null");
  }
  for (const char* const name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!field(model, name).is_null() && field(model, name) != "") {
      refuse(in("model", name), model[name], "\"\"");
    }
  }
}

/// The parts of a tokenizer.json that have no fixed form.
struct File {
  const json& top;
  const json& model;
  const TokenizerJson& texts;
  AddedTokens added_tokens;
  TextTokens around;
};

Bpe byte_level_bpe_from(const File& file) {
  // unk_token and fuse_unk are ignored: they are for bytes without a token, and texts with such bytes are refused.
  const VocabularyIds ids(file.texts.vocabulary, file.added_tokens.size());
  VocabularyReader vocabulary(ids, file.added_tokens);
  require_owners_ids(field(file.top, "added_tokens"), ids);
  std::vector<Merge> merges;
  read_merges(file.texts.merges,
              [&](std::string_view left, std::string_view right, std::size_t i) { merges.push_back(vocabulary.merge_of(left, right, i)); });
  return std::move(vocabulary).bpe(std::move(merges), flag(file.model, "model", "ignore_merges", false));
}

/// Holds the sides of merges, one after another in one string.
class MergeTexts {
 public:
  explicit MergeTexts(std::string_view json) {
    texts_.reserve(json.size());
    sides_.reserve(static_cast<std::size_t>(std::ranges::count(json, '"')) / 4);
    read_merges(json, [&](std::string_view left, std::string_view right, std::size_t) {
      const std::size_t begin = texts_.size();
      texts_.append(left).append(right);
      sides_.push_back({begin, begin + left.size(), texts_.size()});
    });
  }

  /// Returns the ids of the sides. Threads share the search for them, since they are far apart in memory.
  std::vector<Merge> merges(const VocabularyIds& ids) const {
    constexpr Token kMissing = -1;
    constexpr index kBlock = 1 << 14;
    std::vector<Merge> merges(sides_.size());
    parallel_blocks(std::ssize(merges), kBlock, Work::elements(kBlock * std::ssize(merges)), [&](index begin, index end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        merges[i] = {ids.find(left_of(i)).value_or(kMissing), ids.find(right_of(i)).value_or(kMissing)};
      }
    });
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const bool has_left = merges[i].left != kMissing, has_right = merges[i].right != kMissing;
      require_input(has_left && has_right, "tokenizer: merge ", i, " has the token \"", has_left ? right_of(i) : left_of(i),
                    "\", which is not in the vocabulary");
    }
    return merges;
  }

 private:
  struct Sides {
    std::size_t begin, middle, end;  // in texts_
  };

  std::string_view left_of(std::size_t i) const { return text(sides_[i].begin, sides_[i].middle); }
  std::string_view right_of(std::size_t i) const { return text(sides_[i].middle, sides_[i].end); }
  std::string_view text(std::size_t begin, std::size_t end) const { return std::string_view(texts_).substr(begin, end - begin); }

  std::string texts_;
  std::vector<Sides> sides_;
};

/// Calls two functions at the same time. If both fail, throws the first one's error.
template <class F, class G>
void run_both(F&& f, G&& g) {
  std::exception_ptr errors[2];
  parallel_for(2, [&](index which) {
    try {
      which == 0 ? f() : g();
    } catch (...) {
      errors[which] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

CharacterBpe bpe_from(const File& file) {
  std::optional<VocabularyIds> read_ids;
  std::optional<MergeTexts> merge_texts;
  const auto symbols = is_word_level(file.model) ? std::optional(SymbolSplit::spaces) : std::nullopt;
  run_both([&] { read_ids.emplace(file.texts.vocabulary, file.added_tokens.size()); },
           [&] { merge_texts.emplace(symbols ? "[]" : file.texts.merges); });
  const VocabularyIds& ids = *read_ids;
  require_same_ids(ids, file.added_tokens);
  require_owners_ids(field(file.top, "added_tokens"), ids);
  CharacterBpeRules rules{.byte_fallback = flag(file.model, "model", "byte_fallback", false),
                          .fuse_unknown = flag(file.model, "model", "fuse_unk", false),
                          .ignore_merges = flag(file.model, "model", "ignore_merges", false),
                          .symbols = symbols};
  if (const json& unknown = field(file.model, "unk_token"); !unknown.is_null()) {
    rules.unknown = unknown.is_string() ? ids.find(unknown.get<std::string>()) : std::nullopt;
    if (!rules.unknown && !symbols) {  // a WordLevel may name a token that it does not have
      refuse("model.unk_token", unknown, "a token of the vocabulary");
    }
  }
  std::vector<Token> special;
  for (const SpecialToken& token : special_tokens_of(file.added_tokens)) {
    special.push_back(token.id);
  }
  std::vector<Merge> merges = merge_texts->merges(ids);
  return {std::move(*read_ids).take(), std::move(merges), rules, special};
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

/// Returns the JSON text of the decoder. A file may leave it out if the model is WordLevel or the pre_tokenizer has ByteLevel.
std::string decoder_of(const json& file, const PreTokenizer& pre_tokenizer) {
  const json& decoder = field(file, "decoder");
  if (!decoder.is_null()) {
    return json_text(decoder);
  }
  if (is_word_level(field(file, "model"))) {
    return kSpacesBetween;
  }
  if (!pre_tokenizer.is_byte_level()) {
    refuse("decoder", decoder, "a decoder: without one, the text of tokens has a space after each of them");
  }
  return R"({"type":"ByteLevel"})";
}

BpeContents contents_from(const json& top, const TokenizerJson& texts) {
  const json& model = field(top, "model");
  require_input(model.is_object(), "tokenizer: it has no field \"model\", expected a tokenizer.json");
  check_model(model);
  // Check and read the fields that all kinds have.
  require_known(top, "",
                {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
  for (const char* const name : {"truncation", "padding"}) {
    if (!field(top, name).is_null()) {
      refuse(name, top[name], "null");
    }
  }
  File file{.top = top, .model = model, .texts = texts, .added_tokens = added_tokens_from(field(top, "added_tokens")), .around = {}};
  file.around = around_from(field(top, "post_processor"), file.added_tokens);

  // Read byte-level BPE with a splitter that has an implementation of its own.
  const std::optional<bool> nfc = nfc_of(field(top, "normalizer"));
  const std::optional<Splitter> splitter = splitter_of(field(top, "pre_tokenizer"));
  const json& decoder = field(top, "decoder");
  const bool has_bytes =
      !is_word_level(model) && !flag(model, "model", "byte_fallback", false) && (decoder.is_null() || type_of(decoder) == "ByteLevel");
  if (nfc && splitter && has_bytes) {
    Bpe bpe = byte_level_bpe_from(file);
    return BpeVocabulary{.bpe = std::move(bpe),
                         .added_tokens = std::move(file.added_tokens),
                         .splitter = *splitter,
                         .nfc = *nfc,
                         .text_tokens = std::move(file.around)};
  }

  // Read symbols with nothing between them. Their regular expression may be too long for PCRE2.
  if (is_word_level(model) && type_of(decoder) == "Fuse" && field(top, "normalizer").is_null()) {
    const CharacterBpe words = bpe_from(file);
    if (!words.rules().unknown && json_text(field(top, "pre_tokenizer")) == longest_pre_tokenizer(words.tokens(), file.added_tokens)) {
      BpePipeline longest = symbol_pipeline(words.tokens(), SymbolSplit::longest, {}, std::move(file.added_tokens));
      longest.text_tokens = std::move(file.around);
      return longest;
    }
  }

  // Read any other kind as steps.
  const PreTokenizer pre_tokenizer(field(top, "pre_tokenizer"));
  static_cast<void>(TextNormalizer(field(top, "normalizer")));
  std::string decoder_text = decoder_of(top, pre_tokenizer);
  auto bpe = std::make_shared<const CharacterBpe>(bpe_from(file));
  return BpePipeline{.bpe = std::move(bpe),
                     .added_tokens = std::move(file.added_tokens),
                     .normalizer = json_text(field(top, "normalizer")),
                     .pre_tokenizer = json_text(field(top, "pre_tokenizer")),
                     .decoder = std::move(decoder_text),
                     .text_tokens = std::move(file.around)};
}

/// Returns byte-level BPE. Throws InputError for other kinds.
BpeVocabulary vocabulary_of(BpeContents contents) {
  auto* const vocabulary = std::get_if<BpeVocabulary>(&contents);
  require_input(vocabulary != nullptr, "tokenizer: it is not byte-level BPE with the rule of one of ", all_names<Splitter>());
  return std::move(*vocabulary);
}

/// Classes of transformers that put their own tokens around a text: bos, unless add_bos_token is false, and eos, if add_eos_token is true.
/// They ignore the tokens that tokenizer.json puts around a text.
constexpr std::string_view kClassesWithOwnTokens[] = {"LlamaTokenizer",         "LlamaTokenizerFast", "CodeLlamaTokenizer",
                                                      "CodeLlamaTokenizerFast", "GemmaTokenizer",     "GemmaTokenizerFast",
                                                      "CohereTokenizer",        "CohereTokenizerFast"};

/// Decides which tokens stand around a text, from add_bos_token and add_eos_token in a tokenizer_config.json. text_tokens must already have
/// bos, eos and the tokens from tokenizer.json.
std::vector<std::string> settle_around(const json& config, const AddedTokens& added, TextTokens& around) {
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
    const auto shown_token = [&](std::optional<Token> one) { return one ? added.at(*one).name : std::string("nothing"); };
    notes.push_back(concat("tokenizer.json puts ", shown_token(place), ' ', where, " a text, and tokenizer_config.json ",
                           shown_token(wanted), " (", key, " is ", adds ? "true" : "false", is_given ? "" : " by default",
                           name.empty() ? "" : concat(", class ", name), "): ", shown_token(counts ? wanted : place),
                           " is used, as in transformers 4"));
    place = counts ? wanted : place;
  };
  settle("add_bos_token", counts, "bos_token", around.bos, around.before, "before");
  settle("add_eos_token", false, "eos_token", around.eos, around.after, "after");
  return notes;
}

// Reads the object around a tokenizer.json.

std::optional<Token> id_from(const JsonFields& fields, const char* name) {
  const auto id = fields.integer(name, 0, (1 << 30) - 1);
  return id ? std::optional(static_cast<Token>(*id)) : std::nullopt;
}

}  // namespace

BpeContents bpe_contents_in(const TokenizerJson& texts) {
  const json& object = texts.object;
  if (object.contains("model")) {
    return contents_from(object, texts);
  }
  const JsonFields fields = texts.fields();
  fields.require_exactly({"kind", "bos", "eos", "ends", "tokenizer"});
  if (!object["tokenizer"].is_object()) {
    fields.refuse("tokenizer", "an object");
  }
  BpeContents contents = contents_from(object["tokenizer"], texts);
  const json& ends = object["ends"];
  if (!ends.is_array() || !std::ranges::all_of(ends, [](const json& id) { return id.is_number_integer() && id >= 0 && id < (1 << 30); })) {
    fields.refuse("ends", "an array of ids");
  }
  std::visit(
      [&](auto& some) {
        some.text_tokens.bos = id_from(fields, "bos");
        some.text_tokens.eos = id_from(fields, "eos");
        some.text_tokens.ends = ends.get<std::vector<Token>>();
      },
      contents);
  return contents;
}

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeContents contents) {
  if (auto* const vocabulary = std::get_if<BpeVocabulary>(&contents)) {
    return std::make_unique<BpeTokenizer>(std::move(*vocabulary));
  }
  return std::make_unique<PipelineTokenizer>(std::get<BpePipeline>(std::move(contents)));
}

BpeVocabulary from_hugging_face_json(std::string_view text) {
  const TokenizerJson texts = parse_tokenizer(text);
  return vocabulary_of(contents_from(texts.object, texts));
}

BpeVocabulary from_bpe_json(std::string_view text) { return vocabulary_of(bpe_contents_in(parse_tokenizer(text))); }

namespace {

/// Reads a tokenizer_config.json into the tokens around a text. `puts_space`: whether the tokenizer puts a space before a text.
std::vector<std::string> read_config(std::string_view text, const AddedTokens& added_tokens, TextTokens& around, bool puts_space) {
  const TokenizerJson parsed = parse_tokenizer(text);
  const json& config = parsed.object;
  // Refuse added tokens that tokenizer.json does not have.
  if (const json& added = field(config, "added_tokens_decoder"); added.is_object()) {
    for (const auto& [id, token] : added.items()) {
      const json& name = token.is_object() ? field(token, "content") : token;
      Token number = -1;
      std::from_chars(id.data(), id.data() + id.size(), number);
      const auto known = added_tokens.find(number);
      if (known == added_tokens.end() || concat(number) != id || name != known->second.name) {
        fail_input("tokenizer: its tokenizer_config.json adds the token ", shown(name), " with the id ", id,
                   ", which tokenizer.json does not have");
      }
    }
  }
  require_flag(config, "tokenizer_config.json", "add_prefix_space", puts_space);
  // Read bos and eos, and decide which tokens stand around a text.
  for (auto [name, place] : {std::pair("bos_token", &around.bos), std::pair("eos_token", &around.eos)}) {
    const json& value = field(config, name);
    const json& content = value.is_object() ? field(value, "content") : value;
    if (content.is_null()) {
      continue;
    }
    require_input(content.is_string(), "tokenizer: the field \"", name, "\" of its tokenizer_config.json is ", shown(value),
                  ", expected the name of a token");
    const auto id = added_token(added_tokens, content.get<std::string>());
    require_input(id.has_value(), "tokenizer: its tokenizer_config.json has the ", name, ' ', shown(content),
                  ", which is not an added token of tokenizer.json");
    *place = id;
  }
  std::vector<std::string> notes = settle_around(config, added_tokens, around);
  // Drop bos, eos and ends if they follow from tokenizer.json.
  const TextTokens said = around;
  const TextTokens all = all_text_tokens(added_tokens, around);
  around = {.before = said.before, .after = said.after};
  if (all_text_tokens(added_tokens, around) != all) {
    around = said;
  }
  return notes;
}

}  // namespace

std::vector<std::string> read_tokenizer_config(std::string_view text, BpeVocabulary& vocabulary) {
  return read_config(text, vocabulary.added_tokens, vocabulary.text_tokens, false);
}

std::vector<std::string> read_tokenizer_config(std::string_view text, BpePipeline& contents) {
  return read_config(text, contents.added_tokens, contents.text_tokens, puts_space_before(contents));
}

}  // namespace dikkat
