#include "train/web/serve/request_body.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/nearest_word.h"

namespace dikkat {

using nlohmann::json;

json parse_body(std::string_view body) {
  try {
    return parse_json_object(body, "the body", "one with the fields of a request", kBodyLimits);
  } catch (const InputError& error) {
    throw ApiError(400, error.what(), "", "invalid_json");
  }
}

JsonFields fields_of(const json& object) {
  return {object, "", [](const std::string&, const std::string& name, const std::string& problem) { refuse(name, name, ' ', problem); }};
}

void require_names(const json& object, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : object.items()) {
    if (!value.is_null() && std::ranges::find(names, name) == names.end()) {
      const std::string_view meant = nearest_word(std::vector<std::string_view>(names), name);
      throw ApiError(400,
                     concat(short_text(json(name)), " is not a field of this request",
                            meant.empty() ? "; leave it out" : concat("; did you mean \"", meant, "\"?")),
                     name, "unknown_parameter");
    }
  }
}

std::string read_model(const JsonFields& fields, const std::vector<std::string>& models) {
  const json* name = fields.find("model");
  if (name == nullptr) {
    return models.front();
  }
  if (!name->is_string() || std::ranges::find(models, name->get_ref<const std::string&>()) == models.end()) {
    std::string served;
    for (const std::string& one : models) {
      append_to(served, concat(served.empty() ? "" : " or ", short_text(json(one))));
    }
    throw ApiError(404, concat("the model ", short_text(*name), " is not served here, expected ", served, ", or no model at all"), "model",
                   "model_not_found");
  }
  return name->get<std::string>();
}

}  // namespace dikkat
