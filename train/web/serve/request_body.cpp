#include "train/web/serve/request_body.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/nearest_word.h"

namespace dikkat::serve {

using nlohmann::json;

namespace {

constexpr index kMostFields = 10'000;  // the most fields of an object
/// nlohmann::ordered_json compares each field with those before it, so the time is quadratic in an object's fields.
constexpr index kMostSquares = 3 * kMostFields * kMostFields;

/// Counts the fields of each object, and the sum of their squares.
class FieldCounter : public JsonWalker {
 public:
  void on_object() override { open_.push_back(0); }
  void on_key(std::string_view) override { most_ = std::max(most_, ++open_.back()); }
  void on_object_end() override {
    squares_ += open_.back() * open_.back();
    open_.pop_back();
  }
  void on_array() override {}
  void on_array_end() override {}
  void on_text(std::string_view) override {}
  void on_number(std::optional<std::uint64_t>) override {}
  void on_other() override {}

  index most() const { return most_; }
  index squares() const { return squares_; }

 private:
  std::vector<index> open_;
  index most_ = 0, squares_ = 0;
};

}  // namespace

nlohmann::ordered_json parse_in_order(std::string_view text, const JsonLimits& limits, const std::string& field) {
  FieldCounter fields;
  walk_json(text, fields);
  if (fields.most() > kMostFields) {
    throw ApiError(
        400, concat(field.empty() ? "the body" : field, " has an object with ", fields.most(), " fields, expected at most ", kMostFields),
        field, "invalid_value");
  }
  if (fields.squares() > kMostSquares) {
    throw ApiError(400,
                   concat(field.empty() ? "the body" : field, " has too many large objects: the squares of their numbers of fields are ",
                          fields.squares(), " in all, expected at most ", kMostSquares, ": give fewer fields, or smaller objects"),
                   field, "invalid_value");
  }
  return parse_json<nlohmann::ordered_json>(text, limits);
}

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

}  // namespace dikkat::serve
