#include "train/text/nano_gpt_vocabulary.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/in_quotes.h"
#include "train/system/pickle.h"
#include "train/text/around_text.h"

namespace dikkat {
namespace {

using SymbolIds = std::vector<std::pair<std::string, index>>;

SymbolVocabulary vocabulary_of_ids(const SymbolIds& ids) {
  const index size = std::ssize(ids);
  SymbolVocabulary vocabulary{.symbols = std::vector<std::string>(ids.size()), .split = SymbolSplit::longest};
  for (const auto& [symbol, id] : ids) {
    require_input(0 <= id && id < size, "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id, ", but the ids of its ", size,
                  " symbols must be 0 to ", size - 1);
    std::string& place = vocabulary.symbols[static_cast<std::size_t>(id)];
    require_input(place.empty() && !symbol.empty(), "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id,
                  symbol.empty() ? ", expected a symbol that is not empty" : concat(", and so has ", in_quotes(place)));
    place = symbol;
    if (symbol == kEndOfText) {
      vocabulary.end = static_cast<Token>(id);
      vocabulary.special = {static_cast<Token>(id)};
    }
  }
  return vocabulary;
}

}  // namespace

SymbolVocabulary vocabulary_in_pickle(std::string_view bytes) {
  using Kind = PickleValue::Kind;
  constexpr const char* kExpected = "expected nanoGPT's meta.pkl: a dict with stoi, the ids by symbol, and itos, the symbols by id";
  const Pickle pickle = read_pickle(std::as_bytes(std::span(bytes)), "tokenizer");
  require_input(pickle.root.kind == Kind::dict, "tokenizer: its pickle does not hold a dict, ", kExpected);
  // The last one of equal keys counts, as in Python.
  const auto value_of = [&](std::string_view name) {
    PickleValue value;
    const std::vector<PickleValue>& items = pickle.items[pickle.root.at];
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      value = items[i].string() == name ? items[i + 1] : value;
    }
    return value;
  };
  const auto items_of = [&](std::string_view name, Kind key, Kind value) -> const std::vector<PickleValue>& {
    const PickleValue dict = value_of(name);
    require_input(dict.kind == Kind::dict, "tokenizer: its pickle has no dict ", name, ", ", kExpected);
    const std::vector<PickleValue>& items = pickle.items[dict.at];
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      require_input(items[i].kind == key && items[i + 1].kind == value, "tokenizer: item ", i / 2, " of the dict ", name,
                    " in its pickle is not a str with an int, ", kExpected);
    }
    return items;
  };
  // Read the ids, and compare them with the other two values.
  SymbolIds ids;
  const auto& stoi = items_of("stoi", Kind::text, Kind::integer);
  for (std::size_t i = 0; i < stoi.size(); i += 2) {
    ids.emplace_back(stoi[i].string(), stoi[i + 1].integer);
  }
  SymbolVocabulary vocabulary = vocabulary_of_ids(ids);
  const auto& itos = items_of("itos", Kind::integer, Kind::text);
  for (std::size_t i = 0; i < itos.size(); i += 2) {
    const auto id = static_cast<std::uint64_t>(itos[i].integer);
    require_input(id < ids.size() && vocabulary.symbols[id] == itos[i + 1].string(), "tokenizer: in its pickle, itos has ",
                  in_quotes(itos[i + 1].string()), " for the id ", itos[i].integer, ", but stoi has another one");
  }
  const PickleValue size = value_of("vocab_size");
  const index symbols = std::ssize(ids);
  require_input(itos.size() == stoi.size() && (size.kind == Kind::none || (size.kind == Kind::integer && size.integer == symbols)),
                "tokenizer: in its pickle, stoi has ", symbols, " symbols, itos has ", itos.size() / 2, " and vocab_size is ",
                size.integer);
  return vocabulary;
}

SymbolVocabulary vocabulary_in_stoi(const nlohmann::json& ids) {
  require_input(ids.is_object(), "tokenizer: its \"stoi\" is a JSON ", ids.type_name(), ", expected an object of ids by symbol");
  SymbolIds symbols;
  for (const auto& [symbol, id] : ids.items()) {
    require_input(id.is_number_integer(), "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id.dump(), ", expected an integer");
    symbols.emplace_back(symbol, id.get<index>());
  }
  return vocabulary_of_ids(symbols);
}

}  // namespace dikkat
