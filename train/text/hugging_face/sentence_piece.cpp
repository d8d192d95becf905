#include "train/text/hugging_face/sentence_piece.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>
#include <tsl/robin_set.h>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/token_decoder.h"
#include "train/text/pair_key.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using namespace hugging_face;

constexpr const char* kSpaceSign = "\u2581";

json replace(const char* from, const char* to) { return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}}; }
json prepend() { return {{"type", "Prepend"}, {"prepend", kSpaceSign}}; }

/// Calls f(left, right) for each division of a token into two strings of whole characters.
template <class F>
void for_divisions(std::string_view token, F&& f) {
  for (std::size_t at = static_cast<std::size_t>(utf8::decode(token, 0).bytes); at < token.size();
       at += static_cast<std::size_t>(utf8::decode(token, static_cast<index>(at)).bytes)) {
    f(token.substr(0, at), token.substr(at));
  }
}

}  // namespace

std::optional<SentencePieceRules> sentence_piece_rules(const BpePipeline& contents) {
  std::vector<json> normalizers = steps_of(parse_json(contents.normalizer), "normalizer", "normalizers");
  const json pre_tokenizer = parse_json(contents.pre_tokenizer);
  SentencePieceRules rules;
  if (normalizers.size() == 2 && normalizers.front() == prepend()) {
    rules.adds_space = true;
    normalizers.erase(normalizers.begin());
  }
  // A split at spaces finds none once they are replaced.
  const bool replaces = normalizers.size() == 1 && normalizers.front() == replace(" ", kSpaceSign);
  const bool never_splits =
      pre_tokenizer.is_null() || (type_of(pre_tokenizer) == "Split" && field(pre_tokenizer, "pattern") == json{{"String", " "}} &&
                                  !flag(pre_tokenizer, "pre_tokenizer", "invert", false));
  const bool is_metaspace = normalizers.empty() && type_of(pre_tokenizer) == "Metaspace" &&
                            field(pre_tokenizer, "replacement") == kSpaceSign && field(pre_tokenizer, "prepend_scheme") == "never" &&
                            field(pre_tokenizer, "split") == false;
  const CharacterBpeRules& model = contents.bpe->rules();
  const bool has_bytes = model.byte_fallback && !contents.bpe->produces_unknown();
  return ((replaces && never_splits) || is_metaspace) && has_bytes && !model.ignore_merges ? std::optional(rules) : std::nullopt;
}

std::vector<float> sentence_piece_scores(const BpePipeline& contents) {
  // Number the tokens in the order of their first merges. All merges of a token share its score, so they must follow each other.
  const CharacterBpe& bpe = *contents.bpe;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> order(bpe.tokens().size(), kNone);
  tsl::robin_set<PairKey, PairKeyHash> pairs;
  pairs.reserve(bpe.merges().size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < bpe.merges().size(); ++i) {
    pairs.insert(pair_key(bpe.merges()[i].left, bpe.merges()[i].right));
    const Token result = bpe.result_of(i);
    std::size_t& place = order[static_cast<std::size_t>(result)];
    require_input(
        place == kNone || place + 1 == next || contents.added_tokens.contains(result), "the merges of \"",
        bpe.tokens()[static_cast<std::size_t>(result)],
        "\" do not follow each other: GGUF's tokenizer of SentencePiece's kind (\"llama\") has one score for all of them, and texts "
        "would get other ids; export a Hugging Face folder (--format hf)");
    place = place == kNone ? next++ : place;
  }
  // Score the tokens in this order, and check that merging by score joins no other pairs.
  std::vector<float> scores;
  for (std::size_t id = 0; id < order.size(); ++id) {
    const std::string& token = bpe.tokens()[id];
    const bool is_byte = byte_of_token(token) >= 0;
    scores.push_back(is_byte || token.empty() ? 0.0F : -static_cast<float>(order[id] == kNone ? next++ : order[id]));
    if (order[id] == kNone) {
      continue;
    }
    for_divisions(token, [&](std::string_view left, std::string_view right) {
      const auto a = bpe.id_of(left), b = bpe.id_of(right);
      require_input(!a || !b || pairs.contains(pair_key(*a, *b)), "the tokens \"", left, "\" and \"", right,
                    "\" have no merge, although \"", token,
                    "\" is a token: GGUF's tokenizer of SentencePiece's kind (\"llama\") would merge them, and texts would get other ids");
    });
  }
  return scores;
}

BpePipeline sentence_piece_pipeline(SentencePieceVocabulary vocabulary) {
  // Find the bytes and the added and special tokens.
  CharacterBpeRules rules{.fuse_unknown = true};
  AddedTokens added;
  std::vector<Token> special;
  tsl::robin_map<std::string_view, Token> ids;
  index bytes = 0;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string& text = vocabulary.tokens[i];
    const auto id = static_cast<Token>(i);
    const TokenType type = vocabulary.types[i];
    require_input(!text.empty() && !utf8::first_invalid(text), "token ", i, " is empty or not UTF-8");
    require_input(ids.emplace(text, id).second, "two tokens are \"", text, '"');
    require_input(type != TokenType::byte || byte_of_token(text) >= 0, "token ", i, " is \"", text,
                  "\", expected a byte such as <0x0A>, as its type says");
    bytes += type == TokenType::byte ? 1 : 0;
    const bool is_special = type == TokenType::special || type == TokenType::unknown;
    if (is_special || type == TokenType::added) {
      added.emplace(id, AddedToken{.name = text, .special = is_special});
    }
    if (is_special) {
      special.push_back(id);
    }
    if (type == TokenType::unknown) {
      rules.unknown = id;
    }
  }
  require_input(bytes == 0 || bytes == 256, "it has tokens for ", bytes, " bytes, expected all 256 or none");
  rules.byte_fallback = bytes > 0;

  // Make a merge of each pair of tokens that joins to a token.
  struct Ranked {
    double score;
    Token result;
    Merge merge;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] != TokenType::text && vocabulary.types[i] != TokenType::added) {
      continue;
    }
    constexpr std::size_t kLongest = 4096;  // bytes
    require_input(vocabulary.tokens[i].size() <= kLongest, "token ", i, " has ", vocabulary.tokens[i].size(), " bytes, expected at most ",
                  kLongest);
    for_divisions(vocabulary.tokens[i], [&](std::string_view left, std::string_view right) {
      const auto a = ids.find(left), b = ids.find(right);
      if (a != ids.end() && b != ids.end()) {
        ranked.push_back({.score = vocabulary.scores[i], .result = static_cast<Token>(i), .merge = {a->second, b->second}});
      }
    });
  }
  // Rank the merges by descending score, and equal scores by id.
  std::ranges::stable_sort(ranked,
                           [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score > b.score : a.result < b.result; });
  std::vector<Merge> merges;
  merges.reserve(ranked.size());
  for (const Ranked& one : ranked) {
    merges.push_back(one.merge);
  }

  // Write the steps as Hugging Face's converter does.
  json normalizers = json::array();
  json decoders = json::array({replace(kSpaceSign, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (vocabulary.rules.adds_space) {
    normalizers.push_back(prepend());
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(replace(" ", kSpaceSign));
  ids.clear();
  return {.bpe = std::make_shared<const CharacterBpe>(std::move(vocabulary.tokens), std::move(merges), rules, special),
          .added_tokens = std::move(added),
          .normalizer = json_text(json{{"type", "Sequence"}, {"normalizers", std::move(normalizers)}}),
          .pre_tokenizer = "null",
          .decoder = json_text(json{{"type", "Sequence"}, {"decoders", std::move(decoders)}}),
          .text_tokens = std::move(vocabulary.text_tokens)};
}

}  // namespace dikkat
