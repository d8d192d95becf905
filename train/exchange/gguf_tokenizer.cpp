#include "train/exchange/gguf_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_level.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/character_bpe.h"
#include "train/text/hugging_face/sentence_piece.h"
#include "train/text/hugging_face/text_normalizer.h"
#include "train/text/tokenizer_kinds.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr auto kUnused = static_cast<std::int32_t>(TokenType::unused);  // the type of rows that pad the token table

// GGUF names kinds of tokenizers after the first models that had them.
constexpr std::string_view kBpe = "gpt2";             // byte-level BPE
constexpr std::string_view kSentencePiece = "llama";  // BPE by the scores of tokens
constexpr std::string_view kLongestMatch = "rwkv";    // the longest token at each position of a text; no begin or end tokens

std::vector<std::string_view> strings_of(const WeightFile& file, std::string_view key) {
  const MetaValue* value = file.value(key);
  const MetaArray* array = value != nullptr ? value->array() : nullptr;
  auto strings = array != nullptr ? array->strings() : std::nullopt;
  require_input(strings.has_value(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "missing", ", expected texts");
  return *std::move(strings);
}

std::string_view text_of(const WeightFile& file, std::string_view key) {
  const MetaValue* value = file.value(key);
  const auto text = value != nullptr ? value->string() : std::nullopt;
  require_input(text.has_value(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "missing", ", expected a text");
  return *text;
}

std::optional<Token> token_of(const WeightFile& file, std::string_view key, std::size_t tokens) {
  const MetaValue* value = file.value(key);
  if (value == nullptr) {
    return {};
  }
  const auto id = value->integer();
  require_input(id && *id >= 0 && static_cast<std::size_t>(*id) < tokens, file.name(), ": ", key, " is ", value->text(),
                ", expected a token");
  return static_cast<Token>(*id);
}

bool flag_of(const WeightFile& file, std::string_view key, bool absent) {
  const MetaValue* value = file.value(key);
  require_input(value == nullptr || value->boolean(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "",
                ", expected true or false");
  return value != nullptr ? *value->boolean() : absent;
}

/// A value of tokenizer.ggml.pre, and the rules that llama.cpp has for it (llama-vocab.cpp).
struct NamedRules {
  std::string_view pre;
  Splitter splitter;
  bool ignore_merges = false;
  bool adds_bos = false;  // unless the file sets add_bos_token
};
/// The first name of a splitter is the one that is written.
constexpr NamedRules kNamed[] = {{"gpt-2", Splitter::gpt2},
                                 {"phi-2", Splitter::gpt2},
                                 {"olmo", Splitter::gpt2},
                                 {"exaone4", Splitter::gpt2},
                                 {"mellum", Splitter::gpt2},
                                 {"smollm", Splitter::smollm},
                                 {"starcoder", Splitter::smollm},
                                 {"refact", Splitter::smollm},
                                 {"command-r", Splitter::smollm},
                                 {"codeshell", Splitter::smollm},
                                 {"exaone", Splitter::smollm},
                                 {"minerva-7b", Splitter::smollm},
                                 {"llama-bpe", Splitter::llama3, true, true},
                                 {"llama3", Splitter::llama3, true, true},
                                 {"llama-v3", Splitter::llama3, true, true},
                                 {"falcon3", Splitter::llama3, true, true},
                                 {"lfm2", Splitter::llama3, true, true},
                                 {"dbrx", Splitter::llama3},
                                 {"smaug-bpe", Splitter::llama3},
                                 {"qwen2", Splitter::qwen2},
                                 {"deepseek-r1-qwen", Splitter::qwen2}};

const NamedRules& rules_in(const WeightFile& file) {
  const std::string_view pre = text_of(file, "tokenizer.ggml.pre");
  std::string known;
  for (const NamedRules& rules : kNamed) {
    if (rules.pre == pre) {
      return rules;
    }
    known += concat(known.empty() ? "" : ", ", rules.pre);
  }
  fail_input(file.name(), ": tokenizer.ggml.pre is ", in_quotes(pre), ", expected one of ", known, ", ", named_pipelines());
}

/// Returns whether the bytes of every token are merged into that token, so that ignore_merges changes nothing.
bool merges_give_all_tokens(const BpeVocabulary& vocabulary) {
  const Bpe plain(vocabulary.bpe.tokens(), vocabulary.bpe.merges());
  std::vector<Token> tokens;
  return std::ranges::all_of(plain.tokens(), [&](const std::string& bytes) {
    tokens.clear();
    plain.encode(bytes, tokens);
    return tokens.size() <= 1;
  });
}

/// Returns llama.cpp's name for the rules by which a tokenizer splits and merges.
std::string_view pre_of(const BpeVocabulary& vocabulary) {
  const auto* const same = std::ranges::find_if(kNamed, [&](const NamedRules& rules) {
    return rules.splitter == vocabulary.splitter && rules.ignore_merges == vocabulary.bpe.ignores_merges();
  });
  if (same != std::end(kNamed)) {
    return same->pre;
  }
  require_input(merges_give_all_tokens(vocabulary), "GGUF has no name for a tokenizer that splits texts as ", name_of(vocabulary.splitter),
                " and has ignore_merges = ", vocabulary.bpe.ignores_merges() ? "true" : "false",
                ", and some of its tokens are not made by its merges; export a Hugging Face folder (--format hf)");
  return facts_of(vocabulary.splitter).gguf;
}

/// Adds a note on the added tokens with flags that GGUF has no place for, if there are any.
void note_on_flags(const AddedTokens& added, const TextNormalizer& normalizer, std::vector<std::string>& notes) {
  constexpr int kMost = 5;
  std::string list;
  int count = 0;
  for (const auto& [id, token] : added) {
    std::string flags;
    for (const auto& [is_set, name] :
         {std::pair(token.lstrip, "lstrip"), std::pair(token.rstrip, "rstrip"), std::pair(token.single_word, "single_word"),
          std::pair(token.normalized && normalizer(token.name) != token.name, "normalized")}) {
      flags += is_set ? concat(flags.empty() ? "" : ", ", name) : "";
    }
    if (!flags.empty() && ++count <= kMost) {
      list += concat(list.empty() ? "" : ", ", in_quotes(token.name), " (", flags, ")");
    }
  }
  if (count > 0) {
    notes.push_back(concat("GGUF has no place for flags of added tokens, so llama.cpp gives other tokens to texts beside them: ", list,
                           count > kMost ? concat(" and ", count - kMost, " others") : ""));
  }
}

void add(std::vector<MetaEntry>& metadata, const char* key, MetaValue value) {
  metadata.push_back({concat("tokenizer.ggml.", key), std::move(value)});
}

/// Adds the strings and types of `rows` tokens. Tokens whose ids are `size` or more are padding, with names that begin with `padding`.
void add_tokens(std::vector<MetaEntry>& metadata, index rows, index size, const std::function<std::string(Token)>& text_of,
                const std::function<TokenType(Token)>& type_of, std::string_view padding) {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  for (index row = 0; row < rows; ++row) {
    const auto id = static_cast<Token>(row);
    tokens.push_back(row < size ? text_of(id) : concat(padding, "[PAD", row, ']'));
    types.push_back(row < size ? static_cast<std::int32_t>(type_of(id)) : kUnused);
  }
  add(metadata, "tokens", MetaValue(std::span<const std::string>(tokens)));
  add(metadata, "token_type", MetaValue(std::span<const std::int32_t>(types)));
}

/// Adds the tokens around a text.
void add_around(const TextTokens& around, std::vector<MetaEntry>& metadata) {
  const auto add_token = [&](const char* key, std::optional<Token> token) {
    if (token) {
      add(metadata, key, MetaValue(static_cast<std::uint32_t>(*token)));
    }
  };
  add_token("bos_token_id", around.bos);
  add_token("eos_token_id", around.eos);
  const auto is_first_or = [](const std::optional<Token>& around_text, const std::optional<Token>& usual) {
    return !around_text || around_text == usual;
  };
  require_input(is_first_or(around.before, around.bos) && is_first_or(around.after, around.eos),
                "the tokenizer puts other tokens around a text than its begin and end tokens (bos, eos); GGUF cannot describe this");
  add(metadata, "add_bos_token", MetaValue(around.before.has_value()));
  add(metadata, "add_eos_token", MetaValue(around.after.has_value()));
}

void add_bpe(const BpeVocabulary& vocabulary, index rows, std::vector<MetaEntry>& metadata, std::vector<std::string>& notes) {
  note_on_flags(vocabulary.added_tokens, TextNormalizer(vocabulary.nfc), notes);
  if (vocabulary.nfc != facts_of(vocabulary.splitter).nfc) {
    notes.push_back(concat("the tokenizer ", vocabulary.nfc ? "converts" : "does not convert",
                           " texts to normal form C (NFC), which GGUF cannot say: texts that are not in this form may get other tokens"));
  }
  std::vector<std::string> merges;
  for (const auto& [left, right] : vocabulary.merge_texts()) {
    merges.push_back(concat(left, ' ', right));
  }
  add(metadata, "model", MetaValue(kBpe));
  add(metadata, "pre", MetaValue(pre_of(vocabulary)));
  add_tokens(
      metadata, rows, vocabulary.size(), [&](Token id) { return vocabulary.text_of(id); }, [&](Token id) { return vocabulary.type_of(id); },
      "");
  add(metadata, "merges", MetaValue(std::span<const std::string>(merges)));
  add_around(vocabulary.all_text_tokens(), metadata);
}

/// Adds a tokenizer of another kind of BPE, of which llama.cpp knows two: SentencePiece's, and bytes with a rule that it has a name for.
void add_pipeline(const BpePipeline& contents, index rows, std::vector<MetaEntry>& metadata, std::vector<std::string>& notes) {
  note_on_flags(contents.added_tokens, TextNormalizer(parse_json(contents.normalizer)), notes);
  const CharacterBpe& bpe = *contents.bpe;
  const auto sentence_piece = sentence_piece_rules(contents);
  const auto pre = gguf_pre_of(contents);
  require_input(sentence_piece || pre, "GGUF has no name for the rules of this tokenizer (normalizer ", contents.normalizer,
                ", pre_tokenizer ", contents.pre_tokenizer,
                "); expected SentencePiece's kind, or bytes with a rule of a known model; export a Hugging Face folder");
  add(metadata, "model", MetaValue(sentence_piece ? kSentencePiece : kBpe));
  add(metadata, "pre", MetaValue(sentence_piece ? std::string_view("default") : *pre));
  const auto text_of = [&](Token id) { return contents.type_of(id) == TokenType::unused ? concat("[PAD", id, ']') : contents.text_of(id); };
  add_tokens(metadata, rows, contents.size(), text_of, [&](Token id) { return contents.type_of(id); }, "");
  if (sentence_piece) {
    std::vector<float> scores = sentence_piece_scores(contents);
    scores.resize(static_cast<std::size_t>(rows));
    add(metadata, "scores", MetaValue(scores));
    add(metadata, "add_space_prefix", MetaValue(sentence_piece->adds_space));
  } else {
    std::vector<std::string> merges;
    for (const auto& [left, right] : bpe.merges()) {
      merges.push_back(concat(bpe.tokens()[static_cast<std::size_t>(left)], ' ', bpe.tokens()[static_cast<std::size_t>(right)]));
    }
    add(metadata, "merges", MetaValue(std::span<const std::string>(merges)));
  }
  if (bpe.rules().unknown) {
    add(metadata, "unknown_token_id", MetaValue(static_cast<std::uint32_t>(*bpe.rules().unknown)));
  }
  add_around(all_text_tokens(contents.added_tokens, contents.text_tokens), metadata);
}

/// Returns a token as RWKV's tokenizers write it: a byte that cannot be printed becomes \xHH, and so does a backslash. UTF-8 is kept.
std::string escaped(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool is_text = !utf8::first_invalid(bytes);
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x80 ? is_text : byte >= 0x20 && byte != 0x7F && c != '\\';
    text += is_plain ? std::string(1, c) : concat("\\x", kHex[byte >> 4], kHex[byte & 15]);
  }
  return text;
}

/// Returns the bytes of a token with escapes, or nullopt if an escape is incomplete.
std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    if (++i == text.size()) {
      return {};
    }
    constexpr std::string_view kNames = "tnr", kBytes = "\t\n\r";
    if (const std::size_t named = kNames.find(text[i]); named != std::string_view::npos) {
      bytes += kBytes[named];
    } else if (text[i] == 'x') {
      unsigned byte = 0;
      const char* const digits = text.data() + i + 1;
      if (text.size() - i < 3 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
        return {};
      }
      bytes += static_cast<char>(byte);
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

/// The first byte of padding tokens. It never occurs in UTF-8, so llama.cpp never finds these tokens in a text.
constexpr std::string_view kUnreachable = "\\xff";

/// Adds a tokenizer that takes the longest token at each place of a text: bytes, characters or symbols. llama.cpp would also find special
/// tokens by their names, so these are written such that no text has them.
void add_longest(const Tokenizer& tokenizer, index rows, std::vector<MetaEntry>& metadata, std::vector<std::string>& notes) {
  std::vector<TokenType> types(static_cast<std::size_t>(tokenizer.vocab_size()), TokenType::text);
  for (const SpecialToken& token : tokenizer.special_tokens()) {
    types[static_cast<std::size_t>(token.id)] = TokenType::special;
  }
  std::map<char, std::string> begun;  // by first byte, a token that begins with it; "" if the byte is a token
  const auto text_of = [&](Token id) {
    std::string text = tokenizer.decode(std::span(&id, 1));
    if (types[static_cast<std::size_t>(id)] == TokenType::special) {
      return concat(kUnreachable, escaped(text));
    }
    std::string& first = begun.emplace(text[0], text).first->second;
    first = text.size() == 1 ? "" : first;
    return escaped(text);
  };
  add(metadata, "model", MetaValue(kLongestMatch));
  add_tokens(metadata, rows, tokenizer.vocab_size(), text_of, [&](Token id) { return types[static_cast<std::size_t>(id)]; }, kUnreachable);
  add_around(tokenizer.text_tokens(), metadata);
  const auto unsafe = std::ranges::find_if(begun, [](const auto& first) { return !first.second.empty(); });
  if (unsafe != begun.end()) {
    notes.push_back(
        concat("llama.cpp never finishes reading a text that has only the beginning of a token, such as that of ",
               in_quotes(unsafe->second), ": give it only texts of known tokens",
               static_cast<unsigned char>(unsafe->first) < 0x80 ? ", or make the first characters of all symbols symbols too" : ""));
  }
}

/// The tokens of a file and their types, without the padding at the end.
struct TokenTable {
  std::vector<std::string_view> tokens;
  std::vector<index> types;
};

TokenTable token_table_of(const WeightFile& file) {
  std::vector<std::string_view> tokens = strings_of(file, "tokenizer.ggml.tokens");
  const MetaValue* type_value = file.value("tokenizer.ggml.token_type");
  auto types = type_value != nullptr && type_value->array() != nullptr ? type_value->array()->integers() : std::nullopt;
  require_input(types && types->size() == tokens.size(), file.name(), ": tokenizer.ggml.token_type is ",
                type_value != nullptr ? type_value->text() : "missing", ", expected a number for each of ", tokens.size(), " tokens");
  while (!tokens.empty() && types->back() == kUnused) {
    tokens.pop_back();
    types->pop_back();
  }
  return {std::move(tokens), *std::move(types)};
}

/// Reads a tokenizer of RWKV's kind: bytes, characters, or other texts.
std::unique_ptr<Tokenizer> read_longest(const WeightFile& file) {
  const TokenTable table = token_table_of(file);
  bool are_bytes = std::ssize(table.tokens) == ByteTokenizer().vocab_size();
  std::vector<std::string> texts;
  AddedTokens added;
  for (std::size_t i = 0; i < table.tokens.size(); ++i) {
    const auto bytes = unescaped(table.tokens[i]);
    require_input(bytes.has_value(), file.name(), ": token ", i, " is ", in_quotes(table.tokens[i]), ", whose escapes are incomplete");
    are_bytes = are_bytes && bytes->size() == 1 && static_cast<unsigned char>((*bytes)[0]) == i;
    const bool is_special = table.types[i] == static_cast<index>(TokenType::special);
    texts.push_back(is_special && bytes->starts_with('\xFF') ? bytes->substr(1) : *bytes);
    if (is_special) {
      added.emplace(static_cast<Token>(i), AddedToken{.name = texts.back()});
    }
  }
  if (are_bytes) {
    return std::make_unique<ByteTokenizer>();
  }
  try {
    return make_longest_tokenizer(std::move(texts), {.noun = "token"}, std::move(added));
  } catch (const InputError& error) {
    fail_input(file.name(), ": its tokenizer: ", error.what(), "; or give another one with --tokenizer PATH");
  }
}

/// Returns the tokens around a text. Only added tokens count: the others are llama.cpp's defaults, such as 11.
TextTokens around_in(const WeightFile& file, const AddedTokens& added, std::size_t tokens, bool adds_bos_by_default) {
  const auto bos = token_of(file, "tokenizer.ggml.bos_token_id", tokens);
  const auto eos = token_of(file, "tokenizer.ggml.eos_token_id", tokens);
  const bool adds_bos = flag_of(file, "tokenizer.ggml.add_bos_token", adds_bos_by_default);
  const bool adds_eos = flag_of(file, "tokenizer.ggml.add_eos_token", false);
  TextTokens around{.bos = bos, .eos = eos, .before = adds_bos ? bos : std::nullopt, .after = adds_eos ? eos : std::nullopt};
  for (std::optional<Token>* token : {&around.bos, &around.eos, &around.before, &around.after}) {
    if (*token && !added.contains(**token)) {
      token->reset();
    }
  }
  return around;
}

std::unique_ptr<Tokenizer> read_sentence_piece(const WeightFile& file) {
  const auto [tokens, types] = token_table_of(file);
  const MetaValue* const score_value = file.value("tokenizer.ggml.scores");
  auto scores = score_value != nullptr && score_value->array() != nullptr ? score_value->array()->numbers() : std::nullopt;
  require_input(scores && scores->size() >= tokens.size(), file.name(), ": tokenizer.ggml.scores is ",
                score_value != nullptr ? score_value->text() : "missing", ", expected a number for each of ", tokens.size(), " tokens");
  require_input(!flag_of(file, "tokenizer.ggml.remove_extra_whitespaces", false), file.name(),
                ": tokenizer.ggml.remove_extra_whitespaces is true, which is not supported, expected false");
  SentencePieceVocabulary vocabulary{.scores = *std::move(scores),
                                     .rules = {.adds_space = flag_of(file, "tokenizer.ggml.add_space_prefix", true)}};
  AddedTokens added;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    vocabulary.tokens.emplace_back(tokens[i]);
    require_input(1 <= types[i] && types[i] <= 6, file.name(), ": the type of token ", i, " is ", types[i], ", expected 1 to 6");
    vocabulary.types.push_back(static_cast<TokenType>(types[i]));
    if (types[i] != 1 && types[i] != 6) {
      added.emplace(static_cast<Token>(i), AddedToken{});
    }
  }
  vocabulary.text_tokens = around_in(file, added, tokens.size(), true);
  try {
    return std::make_unique<PipelineTokenizer>(sentence_piece_pipeline(std::move(vocabulary)));
  } catch (const InputError& error) {
    fail_input(file.name(), ": its tokenizer: ", error.what());
  }
}

/// Reads byte-level BPE with a rule that has a name in llama.cpp, but is not a Splitter.
std::unique_ptr<Tokenizer> read_named_pipeline(const WeightFile& file, std::string_view pre) {
  const auto [tokens, types] = token_table_of(file);
  std::vector<std::string> texts(tokens.begin(), tokens.end());
  std::unordered_map<std::string_view, Token> ids;
  AddedTokens added;
  std::vector<Token> special;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<Token>(i);
    if (types[i] == kUnused) {
      texts[i].clear();
      continue;
    }
    ids.emplace(tokens[i], id);
    if (types[i] != static_cast<index>(TokenType::text)) {
      const bool is_special = types[i] != static_cast<index>(TokenType::added);
      added.emplace(id, AddedToken{.name = texts[i], .special = is_special});
      if (is_special) {
        special.push_back(id);
      }
    }
  }
  std::vector<Merge> merges;
  for (const std::string_view line : strings_of(file, "tokenizer.ggml.merges")) {
    const std::size_t space = line.find(' ', 1);
    require_input(space != std::string::npos, file.name(), ": the merge ", in_quotes(line), " has one side, expected two");
    const auto left = ids.find(line.substr(0, space)), right = ids.find(line.substr(space + 1));
    require_input(left != ids.end() && right != ids.end(), file.name(), ": the merge ", in_quotes(line), " has a side that is not a token");
    merges.push_back({left->second, right->second});
  }
  TextTokens around = around_in(file, added, tokens.size(), false);
  return std::make_unique<PipelineTokenizer>(named_pipeline(pre, std::move(texts), std::move(merges), std::move(added), std::move(around)));
}

std::unique_ptr<Tokenizer> read_bpe(const WeightFile& file) {
  if (const std::string_view pre = text_of(file, "tokenizer.ggml.pre"); has_named_pipeline(pre)) {
    return read_named_pipeline(file, pre);
  }
  // Read the tokens: ordinary ones are bytes, the others have names.
  const NamedRules& rules = rules_in(file);
  const auto [tokens, types] = token_table_of(file);
  const std::size_t used = tokens.size();
  std::vector<std::string> bytes(used);
  std::unordered_map<std::string, Token> ids;
  AddedTokens added;
  for (std::size_t i = 0; i < used; ++i) {
    const auto type = types[i];
    const auto id = static_cast<Token>(i);
    if (type == static_cast<index>(TokenType::text)) {
      auto text = byte_level::to_bytes(tokens[i]);
      require_input(text && !text->empty(), file.name(), ": token ", i, " is ", in_quotes(tokens[i]),
                    ", expected bytes as GPT-2 writes them");
      bytes[i] = *std::move(text);
      ids.emplace(bytes[i], id);
    } else {
      const bool is_text = type == static_cast<index>(TokenType::added);
      added.emplace(id, AddedToken{.name = std::string(tokens[i]), .special = !is_text});
    }
  }

  // Read the merges.
  std::vector<Merge> merges;
  for (const std::string_view line : strings_of(file, "tokenizer.ggml.merges")) {
    const std::size_t space = line.find(' ', 1);
    const auto side = [&](std::string_view text) {
      const auto found = byte_level::to_bytes(text);
      const auto id = found ? ids.find(*found) : ids.end();
      require_input(id != ids.end(), file.name(), ": the merge ", in_quotes(line), " has a side that is not a token");
      return id->second;
    };
    require_input(space != std::string_view::npos, file.name(), ": the merge ", in_quotes(line), " has one side, expected two");
    merges.push_back({side(line.substr(0, space)), side(line.substr(space + 1))});
  }
  while (!bytes.empty() && bytes.back().empty()) {
    bytes.pop_back();
  }

  // Put the tokenizer together, with the tokens around a text.
  TextTokens around = around_in(file, added, used, rules.adds_bos);
  return std::make_unique<BpeTokenizer>(BpeVocabulary{.bpe = Bpe(std::move(bytes), std::move(merges), rules.ignore_merges),
                                                      .added_tokens = std::move(added),
                                                      .splitter = rules.splitter,
                                                      .nfc = facts_of(rules.splitter).nfc,
                                                      .text_tokens = std::move(around)});
}

}  // namespace

std::vector<std::string> add_gguf_tokenizer(const Tokenizer& tokenizer, index rows, std::vector<MetaEntry>& metadata) {
  std::vector<std::string> notes;
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    add_bpe(bpe->vocabulary(), rows, metadata, notes);
    return notes;
  }
  const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  if (pipeline != nullptr && !pipeline->contents().bpe->rules().symbols) {
    add_pipeline(pipeline->contents(), rows, metadata, notes);
    return notes;
  }
  const bool has_words = pipeline != nullptr && pipeline->contents().bpe->rules().symbols == SymbolSplit::spaces;
  require_input(!has_words && tokenizer.kind() != WordTokenizer::kKind, "GGUF has no tokenizer of kind \"", tokenizer.kind(),
                "\" with spaces between tokens: llama.cpp knows no rule by which whole words are tokens. Export a Hugging Face folder, or "
                "train with symbols that have nothing between them (tokenizer make --split longest)");
  add_longest(tokenizer, rows, metadata, notes);
  return notes;
}

std::unique_ptr<Tokenizer> read_gguf_tokenizer(const WeightFile& file) {
  const std::string_view model = text_of(file, "tokenizer.ggml.model");
  if (model == kSentencePiece) {
    return read_sentence_piece(file);
  }
  require_input(model == kBpe || model == kLongestMatch, file.name(), ": tokenizer.ggml.model is ", in_quotes(model), ", expected ", kBpe,
                " (byte-level BPE), ", kSentencePiece, " (SentencePiece) or ", kLongestMatch,
                " (the longest token); or give another tokenizer with --tokenizer PATH");
  return model == kBpe ? read_bpe(file) : read_longest(file);
}

}  // namespace dikkat
