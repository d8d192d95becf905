#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/grammar/grammar.h"
#include "train/system/json_form.h"

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

/// The work of reading schemas so far. Schemas of one grammar share it, so that they have one limit.
struct SchemaEffort {
  std::size_t states = 0;       // the states that the grammar needs at least
  std::size_t work = 0;         // values, keywords and text that were read, counted each time
  std::size_t comparisons = 0;  // comparisons of schemas in oneOf
  std::size_t steps = 0;        // steps of automata that intersect texts
};

struct SchemaOptions {
  std::string name{};                   // the schema's name for GrammarTooLarge: "tools.find.parameters"
  std::function<void()> on_progress{};  // called often; an exception of it ends the work
  SchemaEffort* effort = nullptr;       // shared by the schemas of one grammar
  JsonForm form{};                      // how the texts are written; with tags, the schema's values are objects
};

/// Matches JSON texts that are valid under a JSON Schema. docs/SERVING.md lists the keywords. Others are refused by name, because a text
/// that ignores them would be wrong. An object's properties come in the order of the schema, and an object with `properties` has no others,
/// unless additionalProperties asks for them. Not all valid texts match: see json_grammar.h for white space and numbers. Throws
/// SchemaError, whose message has the path. Refuses a schema that needs too many states or too much work while reading it, which takes
/// little memory and time.
Grammar json_schema(const nlohmann::ordered_json& schema, const SchemaOptions& options = {});

/// Returns the types of arguments between tags. There, a text that is JSON of one of these types other than a string is this value, and
/// every other text is a string. Throws SchemaError as json_schema() does.
ArgumentTypes argument_types(const nlohmann::ordered_json& schema, SchemaOptions options);

}  // namespace dikkat
