#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "train/config/schema.h"

namespace dikkat::schema {

/// A key of the tables in a list.
struct TableKey : Setting {
  Value (*get)(const Config&, std::size_t item) = nullptr;  // empty: not set
  void (*set)(Config&, std::size_t item, const Value&) = nullptr;
};

/// A list of tables, such as [[data.sources]]. Like Key, this is its only description.
struct Table {
  std::string_view section, name;
  std::string_view one;    // the noun for one table: "source"
  std::string_view about;  // the explanation in a commented file: lines that begin with #, with an example
  std::span<const TableKey> keys;
  std::size_t (*size)(const Config&);
  void (*resize)(Config&, std::size_t);
  /// Returns the problem with a table whose keys are valid one by one; empty if there is none.
  std::string (*problem)(const Config&, std::size_t item);

  /// Returns "section.name".
  std::string path() const;
  /// Returns the key; null if there is none.
  const TableKey* find(std::string_view key) const;
};

std::span<const Table> tables();
/// Returns the list; null if there is none.
const Table* find_table(std::string_view section, std::string_view name);

}  // namespace dikkat::schema
