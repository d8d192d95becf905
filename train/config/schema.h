#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"
#include "train/config/value.h"

namespace dikkat::schema {

/// The numbers that a key takes.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double value) const;
  /// "from 1 to 100", "above 0 and at most 1", "of at least 0"; empty if every number is accepted.
  std::string text() const;
};

/// What a key accepts, besides its type.
struct Rule {
  Range range = {};
  std::span<const std::string_view> choices = {};  // of a text key
  bool not_empty = false;                          // likewise
  std::string_view derived = {};  // how the default follows from other keys, such as "learning_rate / 10"; empty: it does not
  bool fixed = false;             // a run keeps the value that it started with
};

/// What a file gives a value to.
struct Setting {
  std::string_view section = {};
  std::string_view name = {};
  std::string_view help = {};
  Type type = Type::unset;
  Rule rule = {};

  /// "section.name".
  std::string path() const;
  /// "an integer from 1 to 100", "one of constant, linear, cosine".
  std::string expected() const;
  /// Why it does not accept a value of its own type, as a sentence; empty if it does.
  std::string problem_with(const Value& value) const;
};

/// A key of the configuration. This is the only description of it: parsing, --set, rendering, help and advice read it.
struct Key : Setting {
  Value (*get)(const Config&) = nullptr;            // empty: its default follows from other keys and is not computed yet
  void (*set)(Config&, const Value&) = nullptr;     // a value that the key accepts
  bool (*is_set)(const Config&) = nullptr;          // false where the value follows from other keys
  void (*derive)(Config&, const Value&) = nullptr;  // gives a key with a derived default that value, unless it is set
};

/// Every key, section by section, in the order in which files are written.
std::span<const Key> keys();
/// Null if there is no such key.
const Key* find_key(std::string_view section, std::string_view name);
bool is_section(std::string_view name);
std::vector<std::string_view> sections();

}  // namespace dikkat::schema
