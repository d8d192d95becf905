#include "train/system/json_fields.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"

namespace dikkat {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string where, Fail fail) : object_(object), where_(std::move(where)), fail_(fail) {}

const json* JsonFields::find(std::string_view name) const { return find_value(object_, name); }

std::optional<double> JsonFields::number(std::string_view name, double low, double high) const {
  const json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number() || !(low <= value->get<double>() && value->get<double>() <= high)) {
    refuse(name, concat("a number from ", low, " to ", high));
  }
  return value->get<double>();
}

std::optional<index> JsonFields::integer(std::string_view name, index low, index high) const {
  const json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const bool fits = value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{1} << 62U);
  if (!fits || value->get<index>() < low || value->get<index>() > high) {
    refuse(name, concat("an integer from ", low, " to ", high));
  }
  return value->get<index>();
}

bool JsonFields::flag(std::string_view name, bool by_default) const {
  const json* value = find(name);
  if (value != nullptr && !value->is_boolean()) {
    refuse(name, "true or false");
  }
  return value == nullptr ? by_default : value->get<bool>();
}

std::string JsonFields::text(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_string()) {
    refuse(name, "a string");
  }
  return value->get<std::string>();
}

std::vector<std::string> JsonFields::texts(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_array() || !std::ranges::all_of(*value, [](const json& one) { return one.is_string(); })) {
    refuse(name, "an array of strings");
  }
  return value->get<std::vector<std::string>>();
}

void JsonFields::require_exactly(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (!object_.contains(name)) {
      fail_(where_, std::string(name), "is missing");
    }
  }
  for (const auto& field : object_.items()) {
    if (std::ranges::find(names, field.key()) == names.end()) {
      fail_(where_, field.key(), "is a field that this program does not know: a newer dikkat may have written it");
    }
  }
}

void JsonFields::refuse(std::string_view name, std::string_view expected) const {
  const json* value = find(name);
  fail_(where_, std::string(name), concat("is ", value == nullptr ? "missing" : short_text(*value), ", expected ", expected));
  fail("JSON fields: the error about ", name, " was not thrown");
}

void JsonFields::refuse_input(const std::string& where, const std::string& name, const std::string& problem) {
  fail_input(where, ": ", name, ' ', problem);
}

}  // namespace dikkat
