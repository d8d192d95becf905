#include "train/web/serve/structured_request.h"

#include <nlohmann/json.hpp>

#include "train/grammar/json_grammar.h"
#include "train/grammar/json_schema.h"
#include "train/grammar/regex.h"
#include "train/system/json.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {

std::optional<Grammar> content_grammar(const StructuredRequest& request, const std::function<void()>& on_progress) {
  using Kind = StructuredRequest::Kind;
  using Json = nlohmann::ordered_json;
  try {
    switch (request.kind) {
      case Kind::any: return std::nullopt;
      case Kind::object: return json_object();
      case Kind::schema: {
        Json schema = parse_json<Json>(request.text);
        const PartsFreer schema_freer(schema);
        return json_schema(schema, {.name = request.field, .on_progress = on_progress});
      }
      case Kind::regex: return regex(request.text);
      case Kind::choice: {
        std::vector<Grammar> ways;
        for (const Json& one : parse_json<Json>(request.text)) {
          ways.push_back(literal(one.get<std::string>()));
        }
        return any_of(std::move(ways));
      }
    }
  } catch (const SchemaError& error) {
    const std::string path = error.path().empty() || error.path().starts_with('[') ? error.path() : '.' + error.path();
    throw ApiError(400, concat(request.field, ": the JSON schema cannot be used: ", error.what()), request.field + path, "invalid_value");
  } catch (const RegexError& error) {
    throw ApiError(400, concat(request.field, ": ", error.what()), request.field, "invalid_value");
  }
  return std::nullopt;
}

}  // namespace dikkat::serve
