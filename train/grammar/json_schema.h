#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/grammar/grammar.h"

namespace dikkat {

/// Thrown for a schema that cannot be used.
class SchemaError : public InputError {
 public:
  /// `path` leads to the keyword: "properties.age.multipleOf". Empty: the schema itself.
  SchemaError(std::string path, const std::string& what) : InputError(what), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// JSON texts that are valid under a JSON Schema. docs/STRUCTURED.md lists the keywords; others are refused by name, because a text that
/// ignores them would be wrong. An object's properties come in the order of the schema, and an object with `properties` has no others,
/// unless additionalProperties asks for them. Not all valid texts match: see json_grammar.h for white space and numbers. Throws
/// SchemaError, whose text has the path.
Grammar json_schema(const nlohmann::ordered_json& schema);

}  // namespace dikkat
