#include "train/text/nano_gpt_vocabulary.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/in_quotes.h"
#include "train/system/pickle.h"

namespace dikkat {
namespace {

using SymbolIds = std::vector<std::pair<std::string, index>>;

std::vector<std::string> in_order(const SymbolIds& ids) {
  std::vector<std::string> symbols(ids.size());
  for (const auto& [symbol, id] : ids) {
    require_input(0 <= id && id < std::ssize(ids), "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id, ", but the ids of its ",
                  ids.size(), " symbols must be 0 to ", std::ssize(ids) - 1);
    std::string& place = symbols[static_cast<std::size_t>(id)];
    require_input(place.empty() && !symbol.empty(), "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id,
                  symbol.empty() ? ", expected a symbol that is not empty" : concat(", and so has ", in_quotes(place)));
    place = symbol;
  }
  return symbols;
}

}  // namespace

std::vector<std::string> symbols_in_pickle(std::string_view bytes) {
  using Kind = PickleValue::Kind;
  const Pickle pickle = read_pickle(std::as_bytes(std::span(bytes)), "tokenizer");
  const auto check = [](bool ok, const auto&... found) {
    require_input(ok, "tokenizer: its pickle ", found...,
                  ", expected nanoGPT's meta.pkl: a dict with stoi, the ids by symbol, and itos, the symbols by id");
  };
  const auto items_of = [&](const PickleValue& dict, const char* name) -> const std::vector<PickleValue>& {
    check(dict.kind == Kind::dict, "has no dict", name);
    return pickle.items[dict.at];
  };
  // Find the two dicts and the size. The last of equal keys counts, as in Python.
  PickleValue stoi, itos, size;
  const auto& top = items_of(pickle.root, "");
  for (std::size_t i = 0; i < top.size(); i += 2) {
    stoi = top[i].string() == "stoi" ? top[i + 1] : stoi;
    itos = top[i].string() == "itos" ? top[i + 1] : itos;
    size = top[i].string() == "vocab_size" ? top[i + 1] : size;
  }
  // Read one, and compare it with the other.
  SymbolIds ids;
  const auto& by_symbol = items_of(stoi, " stoi");
  for (std::size_t i = 0; i < by_symbol.size(); i += 2) {
    check(by_symbol[i].kind == Kind::text && by_symbol[i + 1].kind == Kind::integer, "has an item of stoi that is not a str and an int");
    ids.emplace_back(by_symbol[i].string(), by_symbol[i + 1].integer);
  }
  std::vector<std::string> symbols = in_order(ids);
  const auto& by_id = items_of(itos, " itos");
  check(by_id.size() == by_symbol.size(), "has ", by_id.size() / 2, " items of itos and ", by_symbol.size() / 2, " of stoi");
  check(size.kind == Kind::none || (size.kind == Kind::integer && size.integer == std::ssize(symbols)), "has a vocab_size other than ",
        symbols.size(), ", the number of its symbols");
  for (std::size_t i = 0; i < by_id.size(); i += 2) {
    const auto id = static_cast<std::uint64_t>(by_id[i].integer);
    check(by_id[i].kind == Kind::integer && id < symbols.size() && by_id[i + 1].kind == Kind::text && by_id[i + 1].string() == symbols[id],
          "has the id ", by_id[i].integer, " for ", in_quotes(by_id[i + 1].string()), " in itos, but not in stoi");
  }
  return symbols;
}

std::vector<std::string> symbols_in_stoi(const nlohmann::json& ids) {
  require_input(ids.is_object(), "tokenizer: its \"stoi\" is a JSON ", ids.type_name(), ", expected an object of ids by symbol");
  SymbolIds pairs;
  for (const auto& [symbol, id] : ids.items()) {
    require_input(id.is_number_integer(), "tokenizer: the symbol ", in_quotes(symbol), " has the id ", id.dump(), ", expected an integer");
    pairs.emplace_back(symbol, id.get<index>());
  }
  return in_order(pairs);
}

}  // namespace dikkat
