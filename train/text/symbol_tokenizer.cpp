#include "train/text/symbol_tokenizer.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "train/text/around_text.h"
#include "train/text/tokenizer_json.h"
#include "train/text/word_maker.h"
#include "train/text/words.h"

namespace dikkat {

bool SymbolVocabulary::is_special(Token id) const { return std::ranges::binary_search(special, id); }

SymbolVocabulary completed(SymbolVocabulary vocabulary) {
  const auto id_of = [&](std::string_view symbol) {
    const auto found = std::ranges::find(vocabulary.symbols, symbol);
    const auto id = static_cast<Token>(found - vocabulary.symbols.begin());
    if (found == vocabulary.symbols.end()) {
      vocabulary.symbols.emplace_back(symbol);
    }
    return id;
  };
  id_of(kLineBreak);
  vocabulary.end = id_of(kEndOfText);
  vocabulary.special = {*vocabulary.end};
  return vocabulary;
}

std::unique_ptr<TokenizerMaker> SymbolTokenizer::maker(const TokenizerOptions&) {
  return std::make_unique<WordMaker>(WordMaker::Form::spaced, 1, [](std::vector<std::string> words) -> std::unique_ptr<Tokenizer> {
    return std::make_unique<SymbolTokenizer>(completed({.symbols = std::move(words)}));
  });
}

std::unique_ptr<Tokenizer> SymbolTokenizer::from_json(const TokenizerJson& json) {
  const JsonFields fields = json.fields();
  fields.require_exactly({"kind", "split", "symbols", "special", "end", "unknown", "line_breaks"});
  SymbolVocabulary vocabulary{.symbols = fields.texts("symbols"), .line_breaks = fields.flag("line_breaks")};
  const auto split = value_named<SymbolSplit>(fields.text("split"));
  const nlohmann::json& special = json.object["special"];
  if (!split) {
    fields.refuse("split", all_names<SymbolSplit>());
  }
  const auto most = static_cast<index>(vocabulary.symbols.size()) - 1;
  const auto is_id = [&](const nlohmann::json& id) { return id.is_number_integer() && id >= 0 && id <= most; };
  if (!special.is_array() || !std::ranges::all_of(special, is_id)) {
    fields.refuse("special", concat("an array of ids, which are at most ", most));
  }
  vocabulary.split = *split;
  vocabulary.special = special.get<std::vector<Token>>();
  for (const auto& [name, id] : {std::pair("end", &vocabulary.end), std::pair("unknown", &vocabulary.unknown)}) {
    if (const auto given = fields.integer(name, 0, most)) {
      *id = static_cast<Token>(*given);
    }
  }
  return std::make_unique<SymbolTokenizer>(std::move(vocabulary));
}

SymbolTokenizer::SymbolTokenizer(SymbolVocabulary vocabulary, SymbolPlaces places) : vocabulary_(std::move(vocabulary)) {
  const SymbolVocabulary& v = vocabulary_;
  const auto is_special = [&](std::optional<Token> id) { return !id || v.is_special(*id); };
  const bool are_ids = v.special.empty() || (v.special.front() >= 0 && v.special.back() < vocab_size());
  require_input(v.special.size() < v.symbols.size(), "symbols tokenizer: its vocabulary is empty, expected one symbol or more");
  require_input(are_ids && std::ranges::adjacent_find(v.special, std::greater_equal<>()) == v.special.end() && is_special(v.end) &&
                    is_special(v.unknown) && (!v.unknown || v.split == SymbolSplit::spaces),
                "symbols tokenizer: its special tokens are not distinct ids in ascending order, or lack its end or its unknown token");
  require_input(v.unknown || vocab_size() <= kMost, "symbols tokenizer: there are ", vocab_size(), " symbols, expected at most ", kMost);
  // Check the symbols, and find their ids.
  const auto place = [&](Token id) { return concat(places.noun, ' ', id + places.first); };
  ids_.reserve(v.symbols.size());
  for (Token id = 0; id < vocab_size(); ++id) {
    const std::string& symbol = v.symbols[static_cast<std::size_t>(id)];
    const auto invalid = utf8::first_invalid(symbol);
    require_input(!invalid, place(id), " is, at byte ", invalid.value_or(0), ", ", invalid ? utf8::refusal(symbol, *invalid) : "");
    require_input(v.unknown || symbol.size() <= kLongest, place(id), " has ", symbol.size(), " bytes, expected at most ", kLongest);
    require_input(!symbol.empty(), place(id), " is empty, expected a string");
    if (v.is_special(id)) {
      continue;
    }
    require_input(v.split == SymbolSplit::longest || is_one_word(symbol), place(id), " is ", in_quotes(symbol),
                  ", which has white space, but white space separates symbols");
    const auto [same, is_new] = ids_.emplace(symbol, id);
    require_input(is_new, place(id), " is ", in_quotes(symbol), ", and so is ", place(same->second));
    sorted_.push_back(id);
    longest_ = std::max(longest_, symbol.size());
  }
  std::ranges::sort(sorted_, {}, [&](Token id) -> const std::string& { return v.symbols[static_cast<std::size_t>(id)]; });
}

std::optional<Token> SymbolTokenizer::special_named(std::string_view name) const {
  const auto found =
      std::ranges::find_if(vocabulary_.special, [&](Token id) { return vocabulary_.symbols[static_cast<std::size_t>(id)] == name; });
  return found == vocabulary_.special.end() ? std::nullopt : std::optional(*found);
}

std::optional<Token> SymbolTokenizer::longest_at_start(std::string_view text) const {
  std::optional<Token> longest;
  // Byte by byte, narrow the range of symbols with which the text may begin. In byte order, the shortest of them is the first.
  auto first = sorted_.begin(), last = sorted_.end();
  for (std::size_t depth = 0; first != last; ++depth) {
    const auto symbol = [&](Token id) -> const std::string& { return vocabulary_.symbols[static_cast<std::size_t>(id)]; };
    if (symbol(*first).size() == depth) {
      longest = *first++;
    }
    if (depth == text.size()) {
      break;
    }
    const auto byte_of = [&](Token id) { return static_cast<unsigned char>(symbol(id)[depth]); };
    const auto byte = static_cast<unsigned char>(text[depth]);
    first = std::ranges::lower_bound(first, last, byte, {}, byte_of);
    last = std::ranges::upper_bound(first, last, byte, {}, byte_of);
  }
  return longest;
}

namespace {

bool is_within(std::span<const ByteRange> ranges, std::size_t first, std::size_t size) {
  return std::ranges::any_of(ranges, [&](const ByteRange& range) {
    return range.first <= static_cast<index>(first) && static_cast<index>(first + size) <= range.last;
  });
}

}  // namespace

std::vector<Token> SymbolTokenizer::encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const {
  std::vector<Token> tokens;
  if (vocabulary_.split == SymbolSplit::spaces) {
    encode_words(text, markup, tokens);
  } else {
    encode_longest(text, markup, tokens);
  }
  return tokens;
}

void SymbolTokenizer::encode_words(std::string_view text, std::span<const ByteRange> markup, std::vector<Token>& tokens) const {
  const auto add = [&](std::string_view word) {
    const auto at = static_cast<std::size_t>(word.data() - text.data());
    const auto known = ids_.find(word);
    std::optional<Token> id = known != ids_.end() ? std::optional(known->second) : std::nullopt;
    if (!id && is_within(markup, at, word.size())) {
      id = special_named(word);
    }
    if (!id && !vocabulary_.unknown) {
      throw EncodeError(static_cast<index>(at),
                        concat("the symbol ", in_quotes(word), " is not among the ", vocab_size(), " symbols of the vocabulary"));
    }
    tokens.push_back(id ? *id : *vocabulary_.unknown);
  };
  if (vocabulary_.unknown) {
    for_words(text, vocabulary_.line_breaks, add);
  } else {
    for_spaced_words(text, vocabulary_.line_breaks, add);
  }
}

void SymbolTokenizer::encode_longest(std::string_view text, std::span<const ByteRange> markup, std::vector<Token>& tokens) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::optional<Token> id = longest_at_start(rest);
    for (const Token special : vocabulary_.special) {
      const std::string& name = vocabulary_.symbols[static_cast<std::size_t>(special)];
      if (!markup.empty() && rest.starts_with(name) && is_within(markup, at, name.size())) {
        id = special;
      }
    }
    if (!id) {
      constexpr index kShown = 20;
      const utf8::Character character = utf8::decode(text, static_cast<index>(at));
      if (character.fault != utf8::Fault::none) {
        refuse_utf8(text, static_cast<index>(at));
      }
      const auto shown = static_cast<std::size_t>(utf8::snap(rest, std::min(kShown, static_cast<index>(rest.size()))));
      throw EncodeError(static_cast<index>(at), concat("the text continues with ", in_quotes(rest.substr(0, shown)), ", and none of the ",
                                                       vocab_size(), " symbols of the vocabulary begins it"));
    }
    tokens.push_back(*id);
    at += vocabulary_.symbols[static_cast<std::size_t>(*id)].size();
  }
}

index SymbolTokenizer::stable_prefix(std::string_view text) const {
  if (vocabulary_.split == SymbolSplit::spaces) {
    return vocabulary_.unknown ? stable_words(text) : stable_spaced_words(text);
  }
  // Take the symbols that no later text could make longer.
  std::size_t at = 0;
  while (text.size() - at >= longest_) {
    const auto id = longest_at_start(text.substr(at));
    if (!id) {
      return static_cast<index>(text.size());  // encode() refuses it
    }
    at += vocabulary_.symbols[static_cast<std::size_t>(*id)].size();
  }
  return static_cast<index>(at);
}

std::string SymbolTokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size(), kind(), " tokenizer: token ", token, ", expected 0 to ", vocab_size() - 1);
    const std::string& symbol = vocabulary_.symbols[static_cast<std::size_t>(token)];
    if (vocabulary_.split == SymbolSplit::spaces && !text.empty() && !text.ends_with('\n') && symbol != kLineBreak) {
      text += ' ';
    }
    text += symbol;
  }
  return text;
}

std::string SymbolTokenizer::decode_inside(std::span<const Token> tokens) const {
  std::string text = decode(tokens);
  const bool has_space = vocabulary_.split == SymbolSplit::spaces && !text.empty() && !text.starts_with('\n');
  return has_space ? text.insert(0, 1, ' ') : text;
}

std::string SymbolTokenizer::to_json() const {
  const auto or_null = [](std::optional<Token> id) { return id ? nlohmann::json(*id) : nlohmann::json(); };
  return nlohmann::json{{"kind", kKind},
                        {"split", name_of(vocabulary_.split)},
                        {"symbols", vocabulary_.symbols},
                        {"special", vocabulary_.special},
                        {"end", or_null(vocabulary_.end)},
                        {"unknown", or_null(vocabulary_.unknown)},
                        {"line_breaks", vocabulary_.line_breaks}}
      .dump();
}

std::vector<Token> SymbolTokenizer::suppressed_tokens() const {
  std::vector<Token> tokens = vocabulary_.special;
  std::erase_if(tokens, [&](Token id) { return id == vocabulary_.end; });
  return tokens;
}

std::vector<SpecialToken> SymbolTokenizer::special_tokens() const {
  std::vector<SpecialToken> tokens;
  for (const Token id : vocabulary_.special) {
    if (id != vocabulary_.unknown) {
      tokens.push_back({.id = id, .name = vocabulary_.symbols[static_cast<std::size_t>(id)]});
    }
  }
  return tokens;
}

TextTokens SymbolTokenizer::text_tokens() const {
  TextTokens tokens{.bos = vocabulary_.end, .eos = vocabulary_.end};
  if (vocabulary_.end) {
    tokens.ends = {*vocabulary_.end};
  }
  return tokens;
}

}  // namespace dikkat
