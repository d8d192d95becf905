#include "train/grammar/schema_place.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "train/grammar/decimal.h"
#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr index kLongestName = 100;  // the longest name in a path, in bytes

constexpr std::pair<std::string_view, unsigned> kTypes[] = {
    {"object", kObject},   {"array", kArray},     {"string", kString}, {"number", kNumber},
    {"integer", kInteger}, {"boolean", kBoolean}, {"null", kNull},
};

constexpr TypeKeyword kTypeKeywords[] = {
    {"properties", kObject},
    {"required", kObject},
    {"additionalProperties", kObject},
    {"propertyNames", kObject},
    {"minProperties", kObject},
    {"maxProperties", kObject},
    {"items", kArray},
    {"prefixItems", kArray},
    {"additionalItems", kArray},
    {"minItems", kArray},
    {"maxItems", kArray},
    {"uniqueItems", kArray},
    {"minLength", kString},
    {"maxLength", kString},
    {"pattern", kString},
    {"format", kString},
    {"minimum", kNumber},
    {"maximum", kNumber},
    {"exclusiveMinimum", kNumber},
    {"exclusiveMaximum", kNumber},
};

/// Reads a part of a pointer: ~0, ~1 and %XX stand for characters.
std::string unescaped(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    unsigned byte = 0;
    if (part[i] == '~' && i + 1 < part.size()) {
      name += part[++i] == '1' ? '/' : '~';
    } else if (part[i] == '%' && i + 2 < part.size() && std::from_chars(&part[i + 1], &part[i + 1] + 2, byte, 16).ptr == &part[i + 1] + 2) {
      name += static_cast<char>(byte);
      i += 2;
    } else {
      name += part[i];
    }
  }
  return name;
}

/// Returns the work of reading a value: the values within it, and text in parts of 32 bytes.
std::size_t work_of(const Json& value) {
  if (value.is_string()) {
    return 1 + value.get_ref<const std::string&>().size() / 32;
  }
  std::size_t work = 1;
  if (value.is_structured()) {
    for (const auto& [name, one] : value.items()) {
      work += work_of(one) + (value.is_object() ? name.size() / 32 : 0);
    }
  }
  return work;
}

/// Returns whether references within a schema begin at itself.
bool is_resource(const Json& schema) {
  const auto id = schema.is_object() ? schema.find("$id") : schema.end();
  return schema.is_object() && id != schema.end() && id->is_string() && !id->get_ref<const std::string&>().starts_with('#');
}

}  // namespace

std::string path_in(const std::string& path, std::string_view name) {
  const std::string shown = std::ssize(name) <= kLongestName
                                ? std::string(name)
                                : concat(name.substr(0, static_cast<std::size_t>(utf8::snap(name, kLongestName))), "...");
  return path.empty() ? shown : concat(path, '.', shown);
}
std::string path_in(const std::string& path, std::size_t number) { return concat(path, '[', number, ']'); }

std::string SchemaPlace::at(std::string_view keyword) const { return path_in(path, keyword); }

SchemaPlace SchemaPlace::part(std::string_view keyword, const Json& one) const {
  SchemaPlace made{&one, base, at(keyword), base_path};
  if (is_resource(one)) {
    made.base = &one;
    made.base_path = made.path;
  }
  return made;
}
SchemaPlace SchemaPlace::part(std::string_view keyword, std::string_view name, const Json& one) const {
  return part(path_in(std::string(keyword), name), one);
}
SchemaPlace SchemaPlace::part(std::string_view keyword, std::size_t number, const Json& one) const {
  return part(path_in(std::string(keyword), number), one);
}

std::size_t SchemaPlace::work() const {
  constexpr std::string_view kValues[] = {"type", "enum", "const", "required", "$ref", "pattern", "format"};
  std::size_t work = work_of_path();
  if (schema->is_object()) {
    for (const auto& [name, value] : schema->items()) {
      work += std::ranges::find(kValues, name) != std::end(kValues) ? work_of(value) : value.is_structured() ? 1 + value.size() : 1;
    }
  }
  return work;
}

SchemaPlace SchemaPlace::target(std::size_t& looked_at) const {
  const Json& reference = (*this)["$ref"];
  if (!reference.is_string()) {
    refuse_schema(at("$ref"), "is ", short_text(reference), ", expected a text such as #/$defs/NAME");
  }
  // Require a pointer into this schema.
  const std::string& pointer = reference.get_ref<const std::string&>();
  const auto lost = [&]() {
    refuse_schema(at("$ref"), "is ", short_text(reference), ", which leads nowhere, expected # or #/$defs/NAME of this schema",
                  base_path.empty() ? "" : concat(" (here of ", base_path, ", which has an $id)"));
  };
  if (!pointer.starts_with('#') || (pointer.size() > 1 && pointer[1] != '/')) {
    lost();
  }
  // Follow its names and indices.
  SchemaPlace found{base, base, base_path, base_path};
  for (std::size_t begin = 2; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string name = unescaped(std::string_view(pointer).substr(begin, end - begin));
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc{} && rest == name.data() + name.size();
    looked_at += found.schema->is_object() ? found.schema->size() : 1;
    if (found.has(name)) {
      found = found.part(name, found[name]);
    } else if (found.schema->is_array() && is_number && number < found.schema->size()) {
      const Json& one = (*found.schema)[number];
      const std::string numbered = path_in(found.path, number);
      found = found.part("", one);
      found.path = numbered;
    } else {
      lost();
    }
    begin = end + 1;
  }
  return found;
}

unsigned type_of_value(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return kNull;
    case Json::value_t::boolean: return kBoolean;
    case Json::value_t::string: return kString;
    case Json::value_t::array: return kArray;
    case Json::value_t::object: return kObject;
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      return number == std::floor(number) ? kInteger : kFraction;
    }
    default: return kInteger;
  }
}

unsigned types_of_keyword(const SchemaPlace& place) {
  const Json& type = place["type"];
  const Json list = type.is_array() ? type : Json::array({type});
  unsigned types = 0;
  for (const Json& one : list) {
    const auto* known =
        !one.is_string() ? std::end(kTypes)
                         : std::ranges::find(kTypes, one.get_ref<const std::string&>(), [](const auto& t) { return std::string(t.first); });
    if (known == std::end(kTypes)) {
      refuse_schema(place.at("type"), "is ", short_text(one),
                    ", expected object, array, string, number, integer, boolean or null, or a list of them");
    }
    types |= known->second;
  }
  if (place.has("nullable") && place["nullable"] == Json(true)) {
    types |= kNull;
  }
  if (list.empty()) {
    refuse_schema(place.at("type"), "is an empty list, expected at least one type");
  }
  return types;
}

std::span<const TypeKeyword> type_keywords() { return kTypeKeywords; }

bool is_false_schema(const Json& schema) {
  if (schema.is_boolean()) {
    return !schema.get<bool>();
  }
  const auto none = schema.is_object() ? schema.find("not") : schema.end();
  return schema.is_object() && none != schema.end() && ((none->is_object() && none->empty()) || *none == Json(true));
}

std::string text_of_equal_values(const Json& value) {
  if (is_number(value)) {
    return Decimal::of_json(json_text(value)).text();
  }
  if (!value.is_structured()) {
    return json_text(value);
  }
  std::vector<std::string> parts;
  for (const auto& [name, one] : value.items()) {
    parts.push_back(concat(value.is_object() ? json_text(Json(name)) + ':' : "", text_of_equal_values(one)));
  }
  if (value.is_object()) {
    std::ranges::sort(parts);
  }
  std::string text(1, value.is_object() ? '{' : '[');
  for (const std::string& one : parts) {
    append_to(text, concat(one, ','));
  }
  return text + (value.is_object() ? '}' : ']');
}

}  // namespace dikkat
