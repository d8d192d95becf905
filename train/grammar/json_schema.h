#pragma once

#include <functional>
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

/// What reading schemas has taken so far. Schemas of one grammar share it, so that they have one limit.
struct SchemaEffort {
  std::size_t states = 0;       // that the grammar needs at least
  std::size_t work = 0;         // values, keywords and text that were read, each as often as it was
  std::size_t comparisons = 0;  // of the schemas in oneOf
  std::size_t steps = 0;        // of automata that intersect texts
};

struct SchemaOptions {
  std::string name{};                   // of the schema, for GrammarTooLarge: "tools.find.parameters"
  std::function<void()> on_progress{};  // called often; what it throws ends the work
  SchemaEffort* effort = nullptr;       // counts what several schemas of one grammar take
};

/// JSON texts that are valid under a JSON Schema. docs/SERVING.md lists the keywords; others are refused by name, because a text that
/// ignores them would be wrong. An object's properties come in the order of the schema, and an object with `properties` has no others,
/// unless additionalProperties asks for them. Not all valid texts match: see json_grammar.h for white space and numbers. Throws
/// SchemaError, whose text has the path. A schema that needs too many states, or too much work, is refused while it is read, so that
/// it takes little memory and time.
Grammar json_schema(const nlohmann::ordered_json& schema, const SchemaOptions& options = {});

}  // namespace dikkat
