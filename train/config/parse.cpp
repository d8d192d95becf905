#include "train/config/parse.h"

#include <algorithm>
#include <system_error>

#include <toml++/toml.h>

#include "autograd/base/error.h"
#include "train/config/advice.h"
#include "train/config/problems.h"
#include "train/config/reading.h"
#include "train/config/tables.h"
#include "train/system/folder.h"

namespace dikkat {
namespace schema {
namespace {

constexpr index kMaxBytes = 1 << 20;

std::string describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return concat("the string ", in_quotes(node.as_string()->get()));
    case toml::node_type::integer: return to_toml(node.as_integer()->get());
    case toml::node_type::floating_point: return to_toml(node.as_floating_point()->get());
    case toml::node_type::boolean: return to_toml(node.as_boolean()->get());
    case toml::node_type::array: return "a list";
    case toml::node_type::table: return "a section";
    default: return "a date or time";
  }
}

Reading read_list(const Setting& key, const toml::array& array) {
  std::vector<std::string> items;
  for (const toml::node& node : array) {
    const auto* text = node.as_string();
    if (text == nullptr) {
      return {.value = {}, .problem = concat(key.path(), " holds ", describe(node), ", expected ", name_of(Type::list))};
    }
    items.push_back(text->get());
  }
  return {.value = items, .problem = key.problem_with(items)};
}

Reading read_numbers(const Setting& key, const toml::array& array) {
  std::vector<double> items;
  for (const toml::node& node : array) {
    if (!node.is_number()) {
      return {.value = {}, .problem = concat(key.path(), " holds ", describe(node), ", expected ", name_of(Type::numbers))};
    }
    items.push_back(node.is_integer() ? static_cast<double>(node.as_integer()->get()) : node.as_floating_point()->get());
  }
  return {.value = items, .problem = key.problem_with(items)};
}

Reading read_node(const Setting& key, const toml::node& node) {
  Value value;
  if (key.type == Type::list && node.is_array()) {
    return read_list(key, *node.as_array());
  }
  if (key.type == Type::numbers && node.is_array()) {
    return read_numbers(key, *node.as_array());
  }
  if (key.type == Type::boolean && node.is_boolean()) {
    value = node.as_boolean()->get();
  } else if (key.type == Type::integer && node.is_integer()) {
    value = node.as_integer()->get();
  } else if (key.type == Type::number && node.is_floating_point()) {
    value = node.as_floating_point()->get();
  } else if (key.type == Type::number && node.is_integer()) {
    value = static_cast<double>(node.as_integer()->get());
  } else if (key.type == Type::text && node.is_string()) {
    value = node.as_string()->get();
  } else {
    return {.value = {}, .problem = key.mismatch(describe(node))};
  }
  return {.value = value, .problem = key.problem_with(value)};
}

struct Located {
  toml::source_position where;
  std::string problem;
};

/// Walks over the two levels of a parsed file, fills in a configuration and collects all problems.
class Reader {
 public:
  Reader(Config& config, std::vector<std::string>* written, std::vector<std::string>* ignored)
      : config_(config), written_(written), ignored_(ignored) {}

  void read(const toml::table& root) {
    if (const toml::array* list = root["derived"].as_array()) {
      read_derived(*list);
    }
    for (auto&& [name, node] : root) {
      const toml::source_position where = name.source().begin;
      if (name.str() == "derived" && node.is_array()) {
        continue;
      }
      if (const toml::table* section = node.as_table()) {
        read_section(name.str(), *section, where);
      } else if (is_section(name.str())) {
        const std::string given = node.is_array_of_tables() ? "a list of sections" : describe(node);
        add(where, concat(name.str(), " is ", given, ", expected a section; write [", name.str(), "] once on a line of its own"));
      } else {
        add(where, unknown_key("", name.str()));
      }
    }
  }

  /// Returns the problems in the order of the file.
  const std::vector<Located>& problems() {
    std::ranges::stable_sort(problems_, [](const Located& a, const Located& b) {
      return a.where.line != b.where.line ? a.where.line < b.where.line : a.where.column < b.where.column;
    });
    return problems_;
  }

 private:
  /// Reads the list of keys whose values were derived from others when the configuration was written.
  void read_derived(const toml::array& list) {
    for (const toml::node& node : list) {
      const std::string path = node.value_or(std::string());
      const std::size_t dot = std::min(path.find('.'), path.size());
      const Key* key = dot == path.size() ? nullptr : find_key(path.substr(0, dot), path.substr(dot + 1));
      if (key == nullptr || key->derive == nullptr) {
        add(node.source().begin, concat("derived holds ", describe(node), ", expected a key whose default follows from others"));
      } else {
        derived_.push_back(key);
      }
    }
  }

  void read_section(std::string_view section, const toml::table& table, toml::source_position where) {
    if (!is_section(section)) {
      add(where, unknown_section(section));
      return;
    }
    for (auto&& [name, node] : table) {
      if (const Table* list = find_table(section, name.str())) {
        read_tables(*list, node, name.source().begin);
        continue;
      }
      const Key* key = find_key(section, name.str());
      if (key == nullptr) {
        read_unknown(section, name.str(), node, name.source().begin);
        continue;
      }
      const Reading reading = read_node(*key, node);
      if (reading.problem.empty()) {
        const bool is_derived = std::ranges::find(derived_, key) != derived_.end();
        (is_derived ? key->derive : key->set)(config_, reading.value);
        if (written_ != nullptr && !is_derived) {
          written_->push_back(key->path());
        }
      } else {
        add(name.source().begin, reading.problem);
      }
    }
  }

  void read_unknown(std::string_view section, std::string_view name, const toml::node& node, toml::source_position where) {
    const auto* text = node.as_string();
    const bool is_empty = text != nullptr && text->get().empty();
    if (!is_retired(section, name) || (!is_empty && ignored_ == nullptr)) {
      add(where, unknown_key(section, name));
    } else if (!is_empty) {
      ignored_->push_back(concat("ignored: ", unknown_key(section, name)));
    }
  }

  void read_tables(const Table& list, const toml::node& node, toml::source_position where) {
    const toml::array* items = node.as_array();
    if (items == nullptr || !std::ranges::all_of(*items, [](const toml::node& item) { return item.is_table(); })) {
      add(where,
          concat(list.path(), " is not a list of tables, expected [[", list.path(), "]] on a line of its own before each ", list.one));
      return;
    }
    list.resize(config_, 0);
    list.resize(config_, items->size());
    for (std::size_t item = 0; item < items->size(); ++item) {
      const toml::table& table = *(*items)[item].as_table();
      read_table(list, item, table);
      if (const std::string problem = list.problem(config_, item); !problem.empty()) {
        add(table.source().begin, problem);
      }
    }
  }

  void read_table(const Table& list, std::size_t item, const toml::table& table) {
    for (auto&& [name, node] : table) {
      const TableKey* key = list.find(name.str());
      if (key == nullptr) {
        add(name.source().begin, unknown_key(list, name.str()));
        continue;
      }
      const Reading reading = read_node(*key, node);
      if (reading.problem.empty()) {
        key->set(config_, item, reading.value);
      } else {
        add(name.source().begin, reading.problem);
      }
    }
  }

  void add(toml::source_position where, std::string problem) { problems_.push_back({where, std::move(problem)}); }

  Config& config_;
  std::vector<std::string>* written_;  // may be null
  std::vector<std::string>* ignored_;  // receives remarks on retired keys that have a value; null: these are refused
  std::vector<const Key*> derived_;
  std::vector<Located> problems_;
};

std::string located(std::string_view source_name, toml::source_position where, std::string_view problem) {
  return concat(source_name, ':', where.line, ':', where.column, ": ", problem);
}

/// Returns whether the text has so many dots, outside of strings and comments, that its nested tables may overflow the parser's stack.
bool nests_too_deep(std::string_view text) {
  constexpr int kMostDots = 1000;
  int dots = 0;
  for (std::size_t i = 0; i < text.size() && dots <= kMostDots; ++i) {
    const char c = text[i];
    if (c == '.') {
      ++dots;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      const std::string quote(text.substr(i, 3) == std::string(3, c) ? 3 : 1, c);
      const bool is_long = quote.size() == 3;
      for (i += quote.size(); i < text.size() && text.substr(i, quote.size()) != quote && (is_long || text[i] != '\n'); ++i) {
        i += c == '"' && text[i] == '\\' ? 1U : 0U;
      }
      i += quote.size() - 1;
    }
  }
  return dots > kMostDots;
}

toml::table parse_toml(std::string_view text, std::string_view source_name) {
  require_input(static_cast<index>(text.size()) <= kMaxBytes, source_name, ": more than ", kMaxBytes,
                " bytes, expected a configuration; give the text to train on with --corpus or data.corpus");
  require_input(!nests_too_deep(text), source_name,
                ": is not a configuration: brackets or sections are nested too deeply; expected lines such as n_layer = 4 under [model]");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    fail_input(located(source_name, error.source().begin, one_line(concat("this is not TOML: ", error.description()))));
  }
}

/// Reads a text. Throws InputError with all of its problems.
void read(Reader& reader, std::string_view toml, std::string_view source_name) {
  reader.read(parse_toml(toml, source_name));
  Problems problems;
  for (const Located& found : reader.problems()) {
    problems.add(located(source_name, found.where, found.problem));
  }
  problems.throw_if_any();
}

std::string configuration_in(const std::filesystem::path& path) {
  require_input(is_there(path), path.string(),
                ": there is no such file, expected a configuration file in TOML, or the name of one that comes with dikkat (quickstart)");
  require_input(!is_folder(path), path.string(), ": is a folder, expected a configuration file in TOML");
  return read_bytes(path, kMaxBytes + 1);
}

/// Makes a relative path absolute if it exists only next to the file.
void find_beside(const std::filesystem::path& file, std::string& entry) {
  std::error_code error;
  const std::filesystem::path path = entry;
  if (entry.empty() || path.is_absolute() || std::filesystem::exists(path, error)) {
    return;
  }
  const std::filesystem::path beside = std::filesystem::canonical(file.parent_path() / path, error);
  if (!error && is_utf8(beside.string())) {
    entry = beside.string();
  }
}

}  // namespace

Reading read_toml(const Setting& key, std::string_view text) {
  const auto bad = [&](std::string_view why) { return Reading{.value = {}, .problem = concat(key.mismatch(in_quotes(text)), "; ", why)}; };
  if (static_cast<index>(text.size()) > kMaxBytes || text.find('\n') != std::string_view::npos || nests_too_deep(text)) {
    return bad("write it on one line");
  }
  try {
    const toml::table table = toml::parse(concat("value = ", text));
    return read_node(key, *table.get("value"));
  } catch (const toml::parse_error& error) {
    return bad(one_line(concat("it is not a TOML value: ", error.description())));
  }
}

}  // namespace schema

Config parse_config(std::string_view toml, std::string_view source_name, const Config& base, std::vector<std::string>* written) {
  Config config = base;
  schema::Reader reader(config, written, nullptr);
  schema::read(reader, toml, source_name);
  return config;
}

Config parse_config_of_run(std::string_view toml, std::string_view source_name, std::vector<std::string>* remarks) {
  Config config = defaults_of_runs();
  std::vector<std::string> nobody;
  schema::Reader reader(config, nullptr, remarks != nullptr ? remarks : &nobody);
  schema::read(reader, toml, source_name);
  return config;
}

Config defaults_of_runs() {
  Config config;
  config.data.split = SplitPlace::end;
  config.lora.decay = false;
  config.chat.content_parts = ContentParts::glued;
  config.optim.muon_precision = Precision::f32;
  return config;
}

Config load_config(const std::filesystem::path& path, const Config& base, std::vector<std::string>* written) {
  Config config = parse_config(schema::configuration_in(path), path.string(), base, written);
  for (std::vector<std::string>* paths : config.data.all_paths()) {
    for (std::string& entry : *paths) {
      schema::find_beside(path, entry);
    }
  }
  schema::find_beside(path, config.tokenizer.path);
  schema::find_beside(path, config.train.init_from);
  return config;
}

}  // namespace dikkat
