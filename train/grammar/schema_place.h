#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/grammar/json_schema.h"

// Parts of a JSON Schema with their paths. This header is only for the sources of this project.
namespace dikkat {

/// A schema within another one.
struct SchemaPlace {
  const nlohmann::ordered_json* schema;
  const nlohmann::ordered_json* base;  // the schema with `$id` around it, or the root: its references begin there
  std::string path;                    // "properties.age"; empty: the root
  std::string base_path;
  bool without_null = false;  // `nullable` of this schema, which has no `type`, has been read

  const nlohmann::ordered_json& operator[](std::string_view keyword) const { return (*schema)[keyword]; }
  /// Returns whether the schema is an object with this keyword.
  bool has(std::string_view keyword) const { return schema->is_object() && schema->contains(keyword); }
  /// Returns the path of a keyword.
  std::string at(std::string_view keyword) const;
  /// Returns the place of a part that stands below a keyword.
  SchemaPlace part(std::string_view keyword, const nlohmann::ordered_json& one) const;
  SchemaPlace part(std::string_view keyword, std::string_view name, const nlohmann::ordered_json& one) const;
  SchemaPlace part(std::string_view keyword, std::size_t number, const nlohmann::ordered_json& one) const;
  /// Returns the target of `$ref`. Adds the number of fields that it looks at to `looked_at`. Throws SchemaError if there is no target.
  SchemaPlace target(std::size_t& looked_at) const;
  /// Returns the work of reading the schema's own keywords, but not the schemas below them: fields, values, and text in parts of 32 bytes.
  std::size_t work() const;
  /// Returns the work of making a path below this place.
  std::size_t work_of_path() const { return 1 + (path.size() + base_path.size()) / 32; }
};

/// Returns the path of a part. A long name is cut.
std::string path_in(const std::string& path, std::string_view name);
std::string path_in(const std::string& path, std::size_t number);

/// Throws SchemaError. `parts` continue "properties.age.minimum ...".
template <class... Parts>
[[noreturn]] void refuse_schema(const std::string& path, const Parts&... parts) {
  throw SchemaError(path, concat(path.empty() ? "the schema" : path, ' ', parts...));
}

/// The types of JSON Schema, as bits. A number is an integer or has a fraction.
enum SchemaType : unsigned {
  kNull = 1,
  kBoolean = 2,
  kString = 4,
  kArray = 8,
  kObject = 16,
  kInteger = 32,
  kFraction = 64,
  kNumber = kInteger | kFraction,
  kAllTypes = 127
};

/// Returns the type of a value: one bit.
unsigned type_of_value(const nlohmann::ordered_json& value);
/// Returns the types of the keyword `type`, to which `nullable` adds null. Throws SchemaError.
unsigned types_of_keyword(const SchemaPlace& place);
/// Returns whether a value is a number. An integer that 64 bits do not hold is kept as its digits.
inline bool is_number(const nlohmann::ordered_json& value) { return value.is_number() || value.is_binary(); }

/// A keyword about values of some types. It has no effect on values of other types.
struct TypeKeyword {
  std::string_view name;
  unsigned types;
};
std::span<const TypeKeyword> type_keywords();

/// Returns whether no value matches a schema: false, or {"not": {}}.
bool is_false_schema(const nlohmann::ordered_json& schema);
/// Returns a string that is equal for values that JSON Schema calls equal, and only for these: 1 and 1.0, and objects in any order.
std::string text_of_equal_values(const nlohmann::ordered_json& value);

}  // namespace dikkat
