#include <algorithm>
#include <unordered_map>

#include "autograd/base/error.h"
#include "train/exchange/gguf_model.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_level.h"

namespace dikkat {
namespace {

constexpr std::int32_t kUnused = 5;  // token type of rows that pad the token table

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

Splitter splitter_of(const WeightFile& file) {
  const std::string_view pre = text_of(file, "tokenizer.ggml.pre");
  std::string known;
  for (const std::string_view name : Names<Splitter>::of) {
    const Splitter splitter = *value_named<Splitter>(name);
    if (facts_of(splitter).gguf == pre) {
      return splitter;
    }
    known += concat(known.empty() ? "" : ", ", facts_of(splitter).gguf);
  }
  fail_input(file.name(), ": tokenizer.ggml.pre is ", in_quotes(pre), ", expected one of ", known);
}

}  // namespace

void add_gguf_tokenizer(const BpeVocabulary& vocabulary, index rows, std::vector<MetaEntry>& metadata) {
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;
  for (index id = 0; id < rows; ++id) {
    const bool is_token = id < vocabulary.size();
    tokens.push_back(is_token ? vocabulary.text_of(static_cast<Token>(id)) : concat("[PAD", id, ']'));
    types.push_back(is_token ? static_cast<std::int32_t>(vocabulary.type_of(static_cast<Token>(id))) : kUnused);
  }
  for (const auto& [left, right] : vocabulary.merge_texts()) {
    merges.push_back(concat(left, ' ', right));
  }
  const auto add = [&](const char* key, MetaValue value) { metadata.push_back({concat("tokenizer.ggml.", key), std::move(value)}); };
  add("model", MetaValue("gpt2"));
  add("pre", MetaValue(facts_of(vocabulary.splitter).gguf));
  add("tokens", MetaValue(std::span<const std::string>(tokens)));
  add("token_type", MetaValue(std::span<const std::int32_t>(types)));
  add("merges", MetaValue(std::span<const std::string>(merges)));
  const TextTokens around = vocabulary.all_text_tokens();
  const auto add_token = [&](const char* key, std::optional<Token> token) {
    if (token) {
      add(key, MetaValue(static_cast<std::uint32_t>(*token)));
    }
  };
  add_token("bos_token_id", around.bos);
  add_token("eos_token_id", around.eos);
  add("add_bos_token", MetaValue(around.before.has_value()));
}

std::unique_ptr<Tokenizer> read_gguf_tokenizer(const WeightFile& file) {
  const std::string_view model = text_of(file, "tokenizer.ggml.model");
  require_input(model == "gpt2", file.name(), ": tokenizer.ggml.model is ", in_quotes(model),
                ", expected gpt2, which is byte-level BPE; --tokenizer PATH gives another file");
  const Splitter splitter = splitter_of(file);
  const std::vector<std::string_view> tokens = strings_of(file, "tokenizer.ggml.tokens");
  const MetaValue* type_value = file.value("tokenizer.ggml.token_type");
  const auto types = type_value != nullptr && type_value->array() != nullptr ? type_value->array()->integers() : std::nullopt;
  require_input(types && types->size() == tokens.size(), file.name(), ": tokenizer.ggml.token_type is ",
                type_value != nullptr ? type_value->text() : "missing", ", expected a number for each of ", tokens.size(), " tokens");

  std::size_t used = tokens.size();  // rows at the end only pad the token table
  while (used > 0 && (*types)[used - 1] == kUnused) {
    --used;
  }
  std::vector<std::string> bytes(used);
  std::unordered_map<std::string, Token> ids;
  AddedTokens added;
  for (std::size_t i = 0; i < used; ++i) {
    const auto type = (*types)[i];
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
  std::vector<Merge> merges;
  for (const std::string_view line : strings_of(file, "tokenizer.ggml.merges")) {
    const std::size_t space = line.find(' ', 1);
    const auto side = [&](std::string_view text) {
      const auto found = byte_level::to_bytes(text);
      const auto id = found ? ids.find(*found) : ids.end();
      require_input(id != ids.end(), file.name(), ": the merge ", in_quotes(line), " has a side that is no token");
      return id->second;
    };
    require_input(space != std::string_view::npos, file.name(), ": the merge ", in_quotes(line), " has one side, expected two");
    merges.push_back({side(line.substr(0, space)), side(line.substr(space + 1))});
  }
  while (!bytes.empty() && bytes.back().empty()) {
    bytes.pop_back();
  }
  const auto bos = token_of(file, "tokenizer.ggml.bos_token_id", used);
  const auto eos = token_of(file, "tokenizer.ggml.eos_token_id", used);
  const MetaValue* adds = file.value("tokenizer.ggml.add_bos_token");
  const bool adds_bos = adds != nullptr && adds->boolean().value_or(false);
  TextTokens around{.bos = bos, .eos = eos, .before = adds_bos ? bos : std::nullopt};
  for (std::optional<Token>* token : {&around.bos, &around.eos, &around.before}) {
    if (*token && !added.contains(**token)) {
      token->reset();  // such as token 11, which llama.cpp takes where a file says nothing
    }
  }
  return std::make_unique<BpeTokenizer>(BpeVocabulary{.bpe = Bpe(std::move(bytes), std::move(merges), facts_of(splitter).ignore_merges),
                                                      .added_tokens = std::move(added),
                                                      .splitter = splitter,
                                                      .nfc = facts_of(splitter).nfc,
                                                      .text_tokens = std::move(around)});
}

}  // namespace dikkat
