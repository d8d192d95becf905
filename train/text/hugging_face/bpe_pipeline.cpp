#include "train/text/hugging_face/bpe_pipeline.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/in_quotes.h"
#include "train/system/json.h"
#include "train/text/added_token_finder.h"
#include "train/text/byte_level.h"
#include "train/text/characters.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/hugging_face/known_regex.h"
#include "train/text/hugging_face/pre_tokenizer.h"
#include "train/text/hugging_face/text_normalizer.h"
#include "train/text/hugging_face/token_decoder.h"
#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/pieces.h"

namespace dikkat {

index BpePipeline::size() const {
  const auto of_text = static_cast<index>(bpe->tokens().size());
  return added_tokens.empty() ? of_text : std::max<index>(of_text, added_tokens.rbegin()->first + index{1});
}

std::string BpePipeline::text_of(Token id) const {
  const auto added = added_tokens.find(id);
  if (added != added_tokens.end()) {
    return added->second.name;
  }
  return id < std::ssize(bpe->tokens()) ? bpe->tokens()[static_cast<std::size_t>(id)] : "";
}

TokenType BpePipeline::type_of(Token id) const {
  const auto added = added_tokens.find(id);
  if (bpe->rules().unknown == id) {
    return TokenType::unknown;
  }
  if (added != added_tokens.end()) {
    return added->second.special ? TokenType::special : TokenType::added;
  }
  const std::string text = text_of(id);
  return text.empty() ? TokenType::unused : bpe->rules().byte_fallback && byte_of_token(text) >= 0 ? TokenType::byte : TokenType::text;
}

/// The parsed steps of a tokenizer.
struct PipelineTokenizer::Steps {
  explicit Steps(const BpePipeline& contents)
      : normalizer(parse_json(contents.normalizer)),
        pre_tokenizer(parse_json(contents.pre_tokenizer)),
        decoder(parse_json(contents.decoder)),
        added(contents.added_tokens, normalizer) {}

  /// Returns the number of bytes at the beginning of the normalized text that come from the text's first character, for
  /// PreTokenizer::split().
  std::size_t lead_of(std::string_view text) const {
    if (text.empty() || !pre_tokenizer.marks_first()) {
      return 0;
    }
    index mark = utf8::decode(text, 0).bytes;
    if (!normalizer.is_empty()) {
      normalizer(text, std::span(&mark, 1));
    }
    return static_cast<std::size_t>(mark);
  }

  TextNormalizer normalizer;
  PreTokenizer pre_tokenizer;
  TokenDecoder decoder;
  AddedTokenFinder added;
};

PipelineTokenizer::PipelineTokenizer(BpePipeline contents) : contents_(std::move(contents)), steps_(new Steps(contents_)) {
  const std::vector<std::string>& tokens = contents_.bpe->tokens();
  for (const auto& [id, token] : contents_.added_tokens) {
    const auto at = static_cast<std::size_t>(id);
    const auto same = contents_.bpe->id_of(token.name);
    require_input(id >= 0 && (at >= tokens.size() || tokens[at].empty() || tokens[at] == token.name) && (!same || *same == id),
                  "bpe tokenizer: the added token ", token.name, " has the id ", id, ", which another token already has");
    require_input(id <= 2 * (std::ssize(tokens) + std::ssize(contents_.added_tokens)) + 1000, "bpe tokenizer: the added token ", token.name,
                  " has the id ", id, ", but the vocabulary has ", tokens.size(), " tokens");
  }
  require_added(contents_.added_tokens, contents_.text_tokens);
}

PipelineTokenizer::~PipelineTokenizer() = default;

std::unique_ptr<PipelineTokenizer> PipelineTokenizer::with_text_tokens(TextTokens tokens) const {
  BpePipeline contents = contents_;
  contents.text_tokens = std::move(tokens);
  return std::make_unique<PipelineTokenizer>(std::move(contents));
}

std::unique_ptr<PipelineTokenizer> PipelineTokenizer::cut_to(index size) const {
  const auto is_too_large = [&](const auto& token) { return token.first >= size; };
  const auto is_text = [&](const auto& token) { return is_too_large(token) && !token.second.special; };
  if (std::ssize(contents_.bpe->tokens()) > size || std::ranges::any_of(contents_.added_tokens, is_text)) {
    return nullptr;
  }
  BpePipeline contents = contents_;
  std::erase_if(contents.added_tokens, is_too_large);
  TextTokens& around = contents.text_tokens;
  for (std::optional<Token>* const token : {&around.bos, &around.eos, &around.before, &around.after}) {
    if (*token && **token >= size) {
      token->reset();
    }
  }
  std::erase_if(around.ends, [&](Token token) { return token >= size; });
  return std::make_unique<PipelineTokenizer>(std::move(contents));
}

std::vector<Token> PipelineTokenizer::encode(std::string_view text) const { return encode_with_markup(text, {}); }

void PipelineTokenizer::split(std::string_view text, std::span<const ByteRange> markup,
                              const std::function<void(std::string_view)>& on_word, const std::function<void(Token)>& on_token) const {
  require_utf8(text);
  std::size_t lead = steps_->lead_of(text);
  const auto on_text = [&](std::string_view part) {
    const PreTokenizer::Words split = steps_->pre_tokenizer.split(part, lead);
    lead = 0;
    for (const std::string_view word : split.words) {
      on_word(word);
    }
  };
  steps_->added.split(text, markup, on_text, [&](Token token) {
    lead = 0;
    on_token(token);
  });
}

void PipelineTokenizer::for_words(std::string_view text, const std::function<void(std::string_view)>& f) const {
  split(text, {}, f, [](Token) {});
}

bool PipelineTokenizer::is_byte_level() const {
  const bool has_all_bytes =
      std::ranges::all_of(byte_level::kOrder, [&](char byte) { return contents_.bpe->id_of(byte_level::to_text({&byte, 1})).has_value(); });
  return !contents_.bpe->rules().symbols && steps_->pre_tokenizer.is_byte_level() && steps_->decoder.is_byte_level() && has_all_bytes;
}

std::vector<Token> PipelineTokenizer::encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 3);
  CharacterBpe::Memory memory;
  try {
    split(
        text, markup, [&](std::string_view word) { contents_.bpe->encode(word, memory, tokens); },
        [&](Token token) { tokens.push_back(token); });
  } catch (const UnknownText& unknown) {
    const bool is_here = std::less_equal<>()(text.data(), unknown.place) && std::less<>()(unknown.place, text.data() + text.size());
    const std::size_t at = is_here ? static_cast<std::size_t>(unknown.place - text.data()) : text.find(unknown.text);
    throw EncodeError(at == std::string_view::npos ? 0 : static_cast<index>(at),  // a normalizer may have changed it
                      contents_.bpe->rules().symbols
                          ? concat("the vocabulary of ", vocab_size(), " symbols does not have ", in_quotes(unknown.text))
                          : concat("the tokenizer has no token for the character ", utf8::name_of(utf8::decode(unknown.text, 0).code_point),
                                   ": its original program would skip it; remove it from the text"));
  }
  return tokens;
}

index PipelineTokenizer::stable_prefix(std::string_view text) const {
  const Steps& steps = *steps_;
  bool ascii_only = false;
  if (!steps.normalizer.is_local(ascii_only)) {
    return 0;
  }
  // A known regular expression has a rule of its own.
  if (const auto regex = steps.pre_tokenizer.only_regex()) {
    const KnownRegex* const known = known_regex(*regex);
    return known != nullptr && steps.added.is_local() && (steps.normalizer.is_empty() || ascii_only)
               ? stable_pieces(text, known->line_breaks, known->joins_after_break)
               : 0;
  }
  // Find the last place at which nothing joins the characters on its two sides: no added token, no pre-tokenizer and no merge.
  const auto size = static_cast<index>(text.size()) - utf8::incomplete_tail(text);
  for (index at = size; at > 0;) {
    const index last = utf8::snap(text, at - 1);
    const utf8::Character after = utf8::decode(text, last);
    at = last;
    if (last == 0) {
      break;
    }
    const utf8::Character before = utf8::decode(text, utf8::snap(text, last - 1));
    const bool are_valid = before.fault == utf8::Fault::none && after.fault == utf8::Fault::none;
    if (!are_valid || (ascii_only && (before.code_point >= 0x80 || after.code_point >= 0x80)) ||
        !steps.added.allows_cut(before.code_point, after.code_point) || !steps.pre_tokenizer.allows_cut(after.code_point)) {
      continue;
    }
    if (contents_.bpe->rules().symbols == SymbolSplit::spaces) {  // then only the pre_tokenizer may separate the characters
      const std::string_view both =
          text.substr(static_cast<std::size_t>(last - before.bytes), static_cast<std::size_t>(before.bytes + after.bytes));
      const std::string normal_text = steps.normalizer(std::string(both));
      const PreTokenizer::Words words = steps.pre_tokenizer.split(normal_text, 0);
      if (words.words.size() != 1 || words.words[0].size() < normal_text.size()) {
        return last;
      }
      continue;
    }
    // Normalize and split both characters, to see which ones meet at the cut.
    const auto normal = [&](utf8::Character character) {
      std::string one;
      utf8::append(one, character.code_point);
      one = steps.normalizer(one);
      const PreTokenizer::Words words = steps.pre_tokenizer.split(one, 0);
      return words.words.size() == 1 ? std::pair(one, std::string(words.words[0])) : std::pair(one, std::string());
    };
    const auto [left, left_word] = normal(before);
    const auto [right, right_word] = normal(after);
    const auto last_of = [](const std::string& some) {
      return utf8::decode(some, utf8::snap(some, static_cast<index>(some.size()) - 1)).code_point;
    };
    if (left_word.empty() || right_word.empty()) {  // a pre-tokenizer removes it
      continue;
    }
    if (steps.added.allows_normalized_cut(last_of(left), utf8::decode(right, 0).code_point) &&
        contents_.bpe->allows_cut(last_of(left_word), utf8::decode(right_word, 0).code_point)) {
      return last;
    }
  }
  return 0;
}

std::string PipelineTokenizer::text_of(std::span<const Token> tokens, bool begins_text) const {
  std::vector<std::string> texts;
  texts.reserve(tokens.size());
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), "bpe tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    texts.push_back(contents_.text_of(token));
  }
  return steps_->decoder(std::move(texts), begins_text);
}

std::string PipelineTokenizer::decode(std::span<const Token> tokens) const { return text_of(tokens, true); }
std::string PipelineTokenizer::decode_inside(std::span<const Token> tokens) const { return text_of(tokens, false); }
bool PipelineTokenizer::puts_spaces_between() const { return steps_->decoder({"a"}, false) == " a"; }

std::string PipelineTokenizer::to_json() const { return pipeline_json(contents_); }

std::vector<Token> PipelineTokenizer::suppressed_tokens() const {
  const std::vector<Token> ends = text_tokens().ends;
  std::vector<Token> tokens;
  for (Token id = 0; id < vocab_size(); ++id) {
    const TokenType type = contents_.type_of(id);
    if ((type == TokenType::special || type == TokenType::unknown || type == TokenType::unused) &&
        std::find(ends.begin(), ends.end(), id) == ends.end()) {
      tokens.push_back(id);
    }
  }
  return tokens;
}

std::string_view PipelineTokenizer::kind() const { return contents_.bpe->rules().symbols ? "symbols" : "bpe"; }

bool PipelineTokenizer::is_lossless() const {
  if (contents_.bpe->rules().symbols == SymbolSplit::longest) {
    return !steps_->added.strips();
  }
  return steps_->normalizer.is_empty() && steps_->pre_tokenizer.is_byte_level() && steps_->pre_tokenizer.keeps_text() &&
         steps_->decoder.is_byte_level() && !steps_->added.strips() && !contents_.bpe->produces_unknown();
}

std::vector<SpecialToken> PipelineTokenizer::special_tokens() const {
  std::vector<SpecialToken> special = special_tokens_of(contents_.added_tokens);
  if (contents_.bpe->produces_unknown()) {
    std::erase_if(special, [&](const SpecialToken& token) { return token.id == contents_.bpe->rules().unknown; });
  }
  return special;
}

namespace {

using nlohmann::json;

/// A rule of byte-level BPE that has a name in llama.cpp and is not a Splitter: each expression splits the text in turn.
struct NamedRule {
  std::string_view gguf;  // tokenizer.ggml.pre
  std::vector<std::string_view> regexes;
  bool digits = false;  // whether the parts are then split into digits
  bool ignore_merges = false;
};
/// The letters of DeepSeek LLM's rule, for a bracket expression: those with capital and small forms, without some scripts (Armenian's small
/// letters, Georgian's usual ones).
constexpr std::string_view kDeepSeekLetters =
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D"
    "\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45"
    "\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC"
    "\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126"
    "\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE"
    "\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17"
    "\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2"
    "\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943";
const std::vector<NamedRule>& named_rules() {
  static const std::string letters = concat(R"(\s?[)", kDeepSeekLetters, "]+");
  static const std::vector<NamedRule> rules{
      {.gguf = "gpt-4o", .regexes = {kO200k}, .ignore_merges = true},
      {.gguf = "deepseek-llm",
       .regexes = {"[\r\n]", letters, "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+", R"(\s+$)",
                   "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"},
       .digits = true},
      {.gguf = "deepseek-coder",
       .regexes = {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"},
       .digits = true},
  };
  return rules;
}

json byte_level_step() { return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}; }

json pre_tokenizer_of(const NamedRule& rule) {
  json steps = json::array();
  for (const std::string_view regex : rule.regexes) {
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  if (rule.digits) {
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  steps.push_back(byte_level_step());
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

/// Returns a pre_tokenizer without the field that does not change its words.
json plain(json pre_tokenizer) {
  if (pre_tokenizer.is_object() && pre_tokenizer.contains("pretokenizers") && pre_tokenizer["pretokenizers"].is_array()) {
    for (json& step : pre_tokenizer["pretokenizers"]) {
      if (step.is_object()) {
        step.erase("trim_offsets");
      }
    }
  }
  return pre_tokenizer;
}

const NamedRule* rule_named(std::string_view gguf_pre) {
  const auto found = std::ranges::find(named_rules(), gguf_pre, &NamedRule::gguf);
  return found == named_rules().end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string_view> gguf_pre_of(const BpePipeline& contents) {
  const json steps = plain(parse_json(contents.pre_tokenizer));
  const bool is_plain =
      TextNormalizer(parse_json(contents.normalizer)).is_empty() && TokenDecoder(parse_json(contents.decoder)).is_byte_level();
  const auto found = std::ranges::find_if(named_rules(), [&](const NamedRule& rule) {
    return is_plain && rule.ignore_merges == contents.bpe->rules().ignore_merges && plain(pre_tokenizer_of(rule)) == steps;
  });
  return found == named_rules().end() ? std::nullopt : std::optional(found->gguf);
}

bool has_named_pipeline(std::string_view gguf_pre) { return rule_named(gguf_pre) != nullptr; }

std::string named_pipelines() {
  std::string names;
  for (const NamedRule& rule : named_rules()) {
    names += concat(names.empty() ? "" : ", ", rule.gguf);
  }
  return names;
}

BpePipeline named_pipeline(std::string_view gguf_pre, std::vector<std::string> tokens, std::vector<Merge> merges, AddedTokens added,
                           TextTokens text_tokens) {
  const NamedRule* const rule = rule_named(gguf_pre);
  require(rule != nullptr, "bpe pipeline: no rule is called ", gguf_pre);
  std::vector<Token> special;
  for (const SpecialToken& token : special_tokens_of(added)) {
    special.push_back(token.id);
  }
  return {.bpe = std::make_shared<const CharacterBpe>(std::move(tokens), std::move(merges),
                                                      CharacterBpeRules{.ignore_merges = rule->ignore_merges}, special),
          .added_tokens = std::move(added),
          .normalizer = "null",
          .pre_tokenizer = json_text(pre_tokenizer_of(*rule)),
          .decoder = json_text(byte_level_step()),
          .text_tokens = std::move(text_tokens)};
}

bool puts_space_before(const BpePipeline& contents) {
  const TextNormalizer normalizer(parse_json(contents.normalizer));
  const PreTokenizer::Words words = PreTokenizer(parse_json(contents.pre_tokenizer)).split("a", 1);
  return !normalizer.prefix().empty() || words.words.size() != 1 || words.words[0] != "a";
}

}  // namespace dikkat
