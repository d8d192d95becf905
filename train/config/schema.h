#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"
#include "train/config/value.h"

namespace dikkat::schema {

/// The range of numbers that a key accepts.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double value) const;
  /// Returns "from 1 to 100", "above 0 and at most 1" or "of at least 0"; empty if every number is accepted.
  std::string text() const;
};

/// The constraints of a key, except its type.
struct Rule {
  Range range = {};
  std::span<const std::string_view> choices = {};  // the accepted values of a string key
  bool not_empty = false;                          // whether a string key refuses an empty string
  std::string_view derived = {};                   // how the default follows from other keys ("learning_rate / 10"); empty if it does not
  bool fixed = false;                              // whether a run keeps the value that it started with
};

/// A name in a configuration file that can have a value.
struct Setting {
  std::string_view section = {};
  std::string_view name = {};
  std::string_view help = {};
  Type type = Type::unset;
  Rule rule = {};

  /// Returns "section.name".
  std::string path() const;
  /// Returns "an integer from 1 to 100" or "one of constant, linear, cosine".
  std::string expected() const;
  /// Returns "section.name is GIVEN, expected an integer from 1 to 100".
  std::string mismatch(std::string_view given) const;
  /// Returns a sentence on why a value of the right type is not accepted; empty if it is accepted.
  std::string problem_with(const Value& value) const;
};

/// A key of the configuration. This is its only description: parsing, --set, rendering, help and advice read it.
struct Key : Setting {
  Value (*get)(const Config&) = nullptr;            // returns an empty value if a derived default is not computed yet
  void (*set)(Config&, const Value&) = nullptr;     // sets a value that the key accepts
  bool (*is_set)(const Config&) = nullptr;          // returns false if the value follows from other keys
  void (*derive)(Config&, const Value&) = nullptr;  // sets a derived default, unless the key is set
};

/// Returns every key, section by section, in the order in which files are written.
std::span<const Key> keys();
/// Returns the key; null if there is none.
const Key* find_key(std::string_view section, std::string_view name);
bool is_section(std::string_view name);
std::vector<std::string_view> sections();

}  // namespace dikkat::schema
