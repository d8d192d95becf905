#include "train/sweep/grid.h"

#include <algorithm>

#include "train/config/advice.h"
#include "train/config/problems.h"
#include "train/config/reading.h"

namespace dikkat {
namespace {

using schema::Key;

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  for (std::size_t comma = 0; comma != std::string_view::npos; list.remove_prefix(comma + 1)) {
    comma = list.find(',');
    items.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) {
      break;
    }
  }
  return items;
}

/// Returns why a sweep cannot vary the key; empty if it can.
std::string objection_to(const Key& key) {
  if (key.section == "data" || key.section == "tokenizer") {
    return "losses over different texts or tokens cannot be compared; run a sweep for each";
  }
  return key.path() == "train.seed" ? "use --seeds: losses are averaged over seeds" : "";
}

/// Returns the values in `list`, as TOML. Adds their problems to `problems`.
std::vector<std::string> values_of(const Key& key, std::string_view list, schema::Problems& problems) {
  std::vector<std::string> values;
  for (const std::string_view item : items_of(list)) {
    const schema::Reading reading = schema::read_text(key, item);
    const std::string value = schema::to_toml(reading.value);
    if (!reading.problem.empty()) {
      problems.add(concat("--vary ", key.path(), ": ", reading.problem));
    } else if (std::find(values.begin(), values.end(), value) != values.end()) {
      problems.add(concat("--vary ", key.path(), ": ", value, " is given twice"));
    } else {
      values.push_back(value);
    }
  }
  return values;
}

/// Converts a string to a part of a file name. Different strings have different results.
std::string for_file_name(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (const char c : text) {
    const bool safe =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+';
    const auto byte = static_cast<unsigned char>(c);
    name += safe ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15U]};
  }
  return name;
}

std::string without_quotes(std::string_view value) {
  return std::string(value.starts_with('"') ? value.substr(1, value.size() - 2) : value);
}

}  // namespace

std::vector<Variation> parse_variations(std::span<const std::string> texts) {
  schema::Problems problems;
  std::vector<Variation> variations;
  for (const std::string_view text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view path = text.substr(0, equals);
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view section = dot == path.size() ? "" : path.substr(0, dot);
    const std::string_view name = dot == path.size() ? path : path.substr(dot + 1);
    const Key* key = schema::find_key(section, name);
    const auto add = [&](std::string_view problem) { problems.add(concat("--vary ", schema::in_quotes(text), ": ", problem)); };
    if (equals == text.size() || path.empty()) {
      add("expected section.key=value,value, for example optim.learning_rate=1e-3,2e-3");
    } else if (key == nullptr) {
      add(schema::unknown_key(section, name));
    } else if (const std::string objection = objection_to(*key); !objection.empty()) {
      add(objection);
    } else if (std::any_of(variations.begin(), variations.end(), [&](const Variation& other) { return other.key == path; })) {
      add(concat(path, " is varied twice; give its values in one list"));
    } else {
      variations.push_back({.key = std::string(path), .values = values_of(*key, text.substr(equals + 1), problems)});
    }
  }
  problems.throw_if_any();
  return variations;
}

std::vector<index> parse_seeds(std::string_view text) {
  schema::Problems problems;
  std::vector<index> seeds;
  for (const std::string_view item : items_of(text)) {
    const schema::Reading reading = schema::read_text(*schema::find_key("train", "seed"), item);
    if (!reading.problem.empty()) {
      problems.add(concat("--seeds: ", reading.problem));
    } else if (const index seed = std::get<index>(reading.value); std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
      problems.add(concat("--seeds: ", seed, " is given twice"));
    } else {
      seeds.push_back(seed);
    }
  }
  problems.throw_if_any();
  return seeds;
}

std::vector<GridPoint> grid_of(std::span<const Variation> variations) {
  constexpr std::size_t kMost = 10'000;
  constexpr std::size_t kLongest = 180;  // file names have at most 255 bytes, and a seed is appended
  std::vector<GridPoint> points(1);
  for (const auto& [key, values] : variations) {
    require_input(points.size() * values.size() <= kMost, "--vary gives more than ", kMost, " combinations; leave out some values");
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points) {
      for (const std::string& value : values) {
        GridPoint& next = longer.emplace_back(point);
        next.assignments.push_back(concat(key, '=', value));
        next.name += concat(next.name.empty() ? "" : ",", key, '=', for_file_name(without_quotes(value)));
      }
    }
    points = std::move(longer);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::string& name = points[i].name; name.size() > kLongest) {
      name = concat(name.substr(0, kLongest), '~', i + 1);
    }
  }
  return points;
}

}  // namespace dikkat
