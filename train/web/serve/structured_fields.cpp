#include "train/web/serve/structured_fields.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "train/system/json.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/request_body.h"

namespace dikkat::serve {
namespace {

using Json = nlohmann::ordered_json;
using Kind = StructuredRequest::Kind;

constexpr std::size_t kMostWords = 1000;

template <class... Parts>
[[noreturn]] void refuse_structure(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(field, ' ', parts...), field, "invalid_value");
}

std::string seen(const Json& value) {
  return value.is_array() ? concat("is a list of ", value.size()) : value.is_object() ? "is an object" : concat("is ", short_text(value));
}

/// Refuses fields that are not in `known`, unless they are empty.
template <std::size_t N>
void require_only(const Json& object, const std::string& field, const std::array<const char*, N>& known) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end() && !is_nothing(value)) {
      std::string names;
      for (const char* const one : known) {
        names += concat(names.empty() ? "" : ", ", one);
      }
      refuse_structure(concat(field, '.', name), "is not supported, expected one of ", names);
    }
  }
}

StructuredRequest schema_of(const Json& schema, const std::string& field) {
  if (schema.is_object() || schema.is_boolean()) {
    return {.kind = Kind::schema, .text = json_text(schema), .field = field};
  }
  // vLLM and SGLang also take a schema as a string.
  if (schema.is_string()) {
    try {
      Json parsed = parse_in_order(schema.get_ref<const std::string&>(), {.levels = 64, .values = std::size_t{1} << 17}, field);
      const PartsFreer parsed_freer(parsed);
      if (parsed.is_object()) {
        return {.kind = Kind::schema, .text = json_text(parsed), .field = field};
      }
    } catch (const JsonError& error) {
      refuse_structure(field, error.what(), ", expected a JSON schema");
    }
  }
  refuse_structure(field, seen(schema), ", expected a JSON schema, an object");
}

StructuredRequest regex_of(const Json& pattern, const std::string& field) {
  if (!pattern.is_string() || pattern.get_ref<const std::string&>().empty()) {
    refuse_structure(field, seen(pattern), ", expected a regular expression, a string that is not empty");
  }
  return {.kind = Kind::regex, .text = pattern.get<std::string>(), .field = field};
}

StructuredRequest choice_of(const Json& choice, const std::string& field) {
  const bool fits = choice.is_array() && !choice.empty() && choice.size() <= kMostWords && std::ranges::all_of(choice, [](const Json& one) {
                      return one.is_string() && !one.get_ref<const std::string&>().empty();
                    });
  if (!fits) {
    refuse_structure(field, seen(choice), ", expected a list of 1 to ", kMostWords, " strings, none of them empty");
  }
  return {.kind = Kind::choice, .text = json_text(choice), .field = field};
}

StructuredRequest response_format_of(const Json& format, const std::string& field) {
  const Json* const type = format.is_object() ? find_value(format, "type") : nullptr;
  if (type == nullptr) {
    refuse_structure(field, seen(format),
                     R"(, expected {"type": "json_object"}, {"type": "json_schema", "json_schema": {...}} or {"type": "text"})");
  }
  // Return for the types without a schema, or with one in llama.cpp's place.
  if (*type == "text") {
    require_only(format, field, std::array{"type"});
    return {};
  }
  if (*type == "json_object") {
    require_only(format, field, std::array{"type", "schema"});
    const Json* const schema = find_value(format, "schema");  // llama.cpp's
    return schema != nullptr ? schema_of(*schema, field + ".schema") : StructuredRequest{.kind = Kind::object, .field = field};
  }
  if (*type != "json_schema") {
    refuse_structure(field + ".type", seen(*type), ", expected text, json_object or json_schema");
  }
  require_only(format, field, std::array{"type", "json_schema", "schema"});
  const Json* const named = find_value(format, "json_schema");
  const Json* const bare = find_value(format, "schema");  // llama.cpp's
  if (named == nullptr && bare != nullptr) {
    return schema_of(*bare, field + ".schema");
  }
  // Check the fields next to the schema.
  const std::string within = field + ".json_schema";
  if (named == nullptr || !named->is_object()) {
    refuse_structure(within, named == nullptr ? "is missing" : seen(*named), R"(, expected {"name": ..., "schema": {...}})");
  }
  require_only(*named, within, std::array{"name", "description", "schema", "strict"});
  for (const char* const name : {"name", "description"}) {
    if (const Json* const text = find_value(*named, name); text != nullptr && !text->is_string()) {
      refuse_structure(concat(within, '.', name), seen(*text), ", expected a string");
    }
  }
  if (const Json* const strict = find_value(*named, "strict"); strict != nullptr && !strict->is_boolean()) {
    refuse_structure(within + ".strict", seen(*strict), ", expected true or false");
  }
  // Read the schema.
  const Json* const schema = find_value(*named, "schema");
  if (schema == nullptr) {
    refuse_structure(within + ".schema", "is missing, expected a JSON schema, an object");
  }
  return schema_of(*schema, within + ".schema");
}

StructuredRequest structured_outputs_of(const Json& outputs, const std::string& field) {
  if (!outputs.is_object()) {
    refuse_structure(field, seen(outputs), R"(, expected {"json": {...}}, {"regex": ...}, {"choice": [...]} or {"json_object": true})");
  }
  require_only(outputs, field, std::array{"json", "regex", "choice", "json_object"});
  StructuredRequest found;
  for (const auto& [name, value] : outputs.items()) {
    const std::string within = concat(field, '.', name);
    if (value.is_null() || (name == "json_object" && value == false)) {
      continue;
    }
    if (found.kind != Kind::any) {
      refuse_structure(within, "stands beside ", found.field, ": an answer can have only one form");
    }
    if (name == "json") {
      found = schema_of(value, within);
    } else if (name == "regex") {
      found = regex_of(value, within);
    } else if (name == "choice") {
      found = choice_of(value, within);
    } else if (name == "json_object") {
      if (value != true) {
        refuse_structure(within, seen(value), ", expected true or false");
      }
      found = {.kind = Kind::object, .field = within};
    }
  }
  if (found.kind == Kind::any) {
    refuse_structure(field, R"(has no form, expected {"json": {...}}, {"regex": ...}, {"choice": [...]} or {"json_object": true})");
  }
  return found;
}

}  // namespace

StructuredRequest read_structured_request(const Json& request) {
  struct Field {
    const char* name;
    StructuredRequest (*read)(const Json& value, const std::string& field);
  };
  constexpr Field kFields[] = {
      {"response_format", response_format_of},
      {"regex", regex_of},
      {"guided_regex", regex_of},
      {"guided_json", schema_of},
      {"json_schema", schema_of},
      {"guided_choice", choice_of},
      {"structured_outputs", structured_outputs_of},
  };
  StructuredRequest found;
  for (const Field& field : kFields) {
    const Json* const value = find_value(request, field.name);
    if (value == nullptr || value->is_null()) {
      continue;
    }
    const StructuredRequest one = field.read(*value, field.name);
    if (one.kind == Kind::any) {
      continue;
    }
    if (found.kind != Kind::any) {
      refuse_structure(one.field, "stands beside ", found.field, ": an answer can have only one form");
    }
    found = one;
  }
  return found;
}

}  // namespace dikkat::serve
