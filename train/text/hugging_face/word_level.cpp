#include "train/text/hugging_face/word_level.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/in_quotes.h"
#include "train/system/json.h"
#include "train/text/around_text.h"
#include "train/text/hugging_face/added_tokens_json.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/vocabulary_json.h"
#include "train/text/tokenizer_json.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

using namespace hugging_face;

/// Returns a regular expression that finds the longest symbol at a place: alternatives are tried in their order.
std::string longest_first(const SymbolVocabulary& vocabulary) {
  std::vector<std::string_view> symbols;
  for (Token id = 0; id < std::ssize(vocabulary.symbols); ++id) {
    if (!vocabulary.is_special(id)) {
      symbols.emplace_back(vocabulary.symbols[static_cast<std::size_t>(id)]);
    }
  }
  std::ranges::stable_sort(symbols, std::greater<>(), &std::string_view::size);
  std::string regex;
  for (const std::string_view symbol : symbols) {
    regex += regex.empty() ? "" : "|";
    for (const char c : symbol) {
      regex += std::string_view("\\^$.*+?()[]{}|").find(c) == std::string_view::npos ? "" : "\\";
      regex += c;
    }
  }
  return regex;
}

/// The steps before and after the model.
struct Steps {
  json pre_tokenizer, decoder;
};

Steps steps_for(const SymbolVocabulary& vocabulary) {
  const auto split = [](const std::string& regex, const char* behavior, bool invert) {
    return json{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", invert}};
  };
  const json fuse{{"type", "Fuse"}};
  if (vocabulary.split == SymbolSplit::longest) {
    return {.pre_tokenizer = split(longest_first(vocabulary), "Isolated", false), .decoder = fuse};
  }
  if (!vocabulary.line_breaks) {
    return {.pre_tokenizer = json{{"type", "WhitespaceSplit"}},
            .decoder = {}};  // without a decoder, the library puts spaces between tokens
  }
  // Keep line breaks and words, which have no White_Space (utf8::kWhiteSpace). WordPiece puts a space before each token but the first,
  // since no token has its prefix. Then the spaces next to line breaks are removed.
  const char* const words = "\n|[^\t-\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+";
  const json spaces{{"type", "WordPiece"}, {"prefix", " "}, {"cleanup", false}};
  const json breaks{{"type", "Replace"}, {"pattern", {{"Regex", " ?\n ?"}}}, {"content", "\n"}};
  return {.pre_tokenizer = split(words, "Removed", true), .decoder = json{{"type", "Sequence"}, {"decoders", {spaces, fuse, breaks}}}};
}

}  // namespace

bool is_word_level(const json& file) {
  const json& model = field(file, "model");
  return model.is_object() && type_of(model) == "WordLevel";
}

HuggingFaceFiles hugging_face_files(const SymbolVocabulary& vocabulary, const HuggingFaceModel& model) {
  // Collect the ids by symbol.
  AddedTokens added;
  nlohmann::ordered_json::object_t ids;
  std::unordered_set<std::string_view> known;
  for (Token id = 0; id < std::ssize(vocabulary.symbols); ++id) {
    const std::string& symbol = vocabulary.symbols[static_cast<std::size_t>(id)];
    require_input(known.insert(symbol).second, "a tokenizer.json of Hugging Face cannot hold the tokenizer: its word ", in_quotes(symbol),
                  " is spelled like a special token; replace it in the text, and train again");
    ids.emplace_back(symbol, id);
    if (vocabulary.is_special(id)) {
      added.emplace(id, AddedToken{.name = symbol});
    }
  }
  // Write the file. The library refuses texts with unknown symbols if the vocabulary does not have unk_token.
  const std::string unknown = vocabulary.unknown ? vocabulary.symbols[static_cast<std::size_t>(*vocabulary.unknown)] : "";
  const Steps steps = steps_for(vocabulary);
  const nlohmann::ordered_json file{{"version", "1.0"},
                                    {"truncation", nullptr},
                                    {"padding", nullptr},
                                    {"added_tokens", added_tokens_of(added)},
                                    {"normalizer", nullptr},
                                    {"pre_tokenizer", steps.pre_tokenizer},
                                    {"post_processor", nullptr},
                                    {"decoder", steps.decoder},
                                    {"model", {{"type", "WordLevel"}, {"vocab", std::move(ids)}, {"unk_token", unknown}}}};
  const TextTokens around{.bos = vocabulary.end, .eos = vocabulary.end};
  return hugging_face_files(json_text(file), added, around, vocabulary.unknown, model);
}

std::unique_ptr<Tokenizer> word_level_in(const TokenizerJson& texts) {
  // Check the fields that must be empty.
  const json& top = texts.object;
  const json& model = top["model"];
  require_plain_file(top);
  require_known(model, "model", {"type", "vocab", "unk_token"});
  for (const char* const name : {"normalizer", "post_processor"}) {
    if (!field(top, name).is_null()) {
      refuse(name, top[name], "null for a WordLevel");
    }
  }
  // Read the symbols. Added tokens must be special ones of the vocabulary.
  const AddedTokens added = added_tokens_from(field(top, "added_tokens"));
  const VocabularyIds ids(texts.vocabulary, 0);
  SymbolVocabulary vocabulary{.symbols = ids.tokens(), .unknown = ids.find(text(model, "model", "unk_token"))};
  for (const auto& [id, token] : added) {
    require_input(ids.find(token.name) == id && token.special && !token.lstrip && !token.rstrip && !token.single_word,
                  "tokenizer: its added token ", in_quotes(token.name), " has the id ", id,
                  ", expected a special token of the vocabulary, without lstrip, rstrip and single_word");
    vocabulary.special.push_back(id);
  }
  if (vocabulary.unknown && !added.contains(*vocabulary.unknown)) {
    vocabulary.special.push_back(*vocabulary.unknown);
    std::ranges::sort(vocabulary.special);
  }
  vocabulary.end = separator_of(added, {.eos = added_token(added, "<end>")});
  // Find the rule that has these steps.
  for (const auto& [split, line_breaks] :
       {std::pair(SymbolSplit::spaces, true), std::pair(SymbolSplit::spaces, false), std::pair(SymbolSplit::longest, true)}) {
    vocabulary.split = split;
    vocabulary.line_breaks = line_breaks;
    const Steps steps = steps_for(vocabulary);
    if (steps.pre_tokenizer == field(top, "pre_tokenizer") && steps.decoder == field(top, "decoder")) {
      return make_symbol_tokenizer(std::move(vocabulary), {.noun = "tokenizer: symbol"});
    }
  }
  refuse("pre_tokenizer", field(top, "pre_tokenizer"),
         concat("WhitespaceSplit without a decoder for a WordLevel, or the steps that dikkat writes; the decoder is ",
                shown(field(top, "decoder"))));
}

}  // namespace dikkat
