#include "train/text/hugging_face/hugging_face_fields.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat::hugging_face {

std::string shown(const json& value) {
  constexpr std::size_t kMost = 300;
  const std::string text = json_text(value);
  return text.size() <= kMost ? text : concat(text.substr(0, static_cast<std::size_t>(utf8::snap(text, kMost))), "...");
}

void refuse(const std::string& where, const json& value, std::string_view expected) {
  fail_input("tokenizer: its ", where, " is ", shown(value), ", expected ", expected, "; with other values the ids may differ");
}

const json& field(const json& object, std::string_view name) {
  static const json null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string in(const std::string& where, std::string_view name) { return concat(where, where.empty() ? "" : ".", name); }

void require_known(const json& object, const std::string& where, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : object.items()) {
    require_input(is_nothing(value) || std::find(names.begin(), names.end(), name) != names.end(), "tokenizer: its ", where,
                  where.empty() ? "" : " ", "has the field \"", name, "\" (", shown(value), "), which this program does not know");
  }
}

bool flag(const json& object, const std::string& where, const char* name, bool by_default) {
  const json& value = field(object, name);
  if (!value.is_null() && !value.is_boolean()) {
    refuse(in(where, name), value, "true or false");
  }
  return value.is_null() ? by_default : value.get<bool>();
}

void require_flag(const json& object, const std::string& where, const char* name, bool expected) {
  if (flag(object, where, name, expected) != expected) {
    refuse(in(where, name), object[name], expected ? "true" : "false");
  }
}

std::string text(const json& object, const std::string& where, const char* name) {
  const json& value = field(object, name);
  if (!value.is_string()) {
    refuse(in(where, name), value, "a text");
  }
  return value.get<std::string>();
}

std::string type_of(const json& object) {
  const json& type = object.is_object() ? field(object, "type") : object;
  return type.is_string() ? type.get<std::string>() : "";
}

std::vector<json> steps_of(const json& step, const std::string& where, const char* name) {
  if (step.is_null()) {
    return {};
  }
  if (type_of(step) != "Sequence") {
    return {step};
  }
  require_known(step, where, {"type", name});
  const json& steps = field(step, name);
  if (!steps.is_array()) {
    refuse(in(where, name), steps, "an array");
  }
  // A sequence may hold sequences.
  std::vector<json> all;
  for (const json& inner : steps) {
    std::vector<json> some = steps_of(inner, where, name);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

}  // namespace dikkat::hugging_face
