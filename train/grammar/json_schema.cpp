#include "train/grammar/json_schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/grammar/json_formats.h"
#include "train/grammar/json_grammar.h"
#include "train/grammar/number_range.h"
#include "train/grammar/regex.h"
#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostSchemaLevels = 64;
constexpr index kMostItems = 100'000;
constexpr std::size_t kMostComparisons = 1'000'000;  // of values and properties, for oneOf
constexpr std::size_t kLongestName = 256;            // beside additionalProperties

/// The types of JSON Schema, as bits. A number is an integer or has a fraction.
enum : unsigned { kNull = 1, kBoolean = 2, kString = 4, kArray = 8, kObject = 16, kInteger = 32, kFraction = 64, kAllTypes = 127 };

constexpr std::pair<std::string_view, unsigned> kTypes[] = {
    {"object", kObject},   {"array", kArray},     {"string", kString}, {"number", kInteger | kFraction},
    {"integer", kInteger}, {"boolean", kBoolean}, {"null", kNull},
};

struct Keyword {
  std::string_view name;
  unsigned types;  // those that it limits; 0: it says nothing about texts
};
constexpr Keyword kKeywords[] = {
    {"properties", kObject},
    {"required", kObject},
    {"additionalProperties", kObject},
    {"items", kArray},
    {"prefixItems", kArray},
    {"minItems", kArray},
    {"maxItems", kArray},
    {"minLength", kString},
    {"maxLength", kString},
    {"pattern", kString},
    {"format", kString},
    {"minimum", kInteger | kFraction},
    {"maximum", kInteger | kFraction},
    {"exclusiveMinimum", kInteger | kFraction},
    {"exclusiveMaximum", kInteger | kFraction},
};
/// Keywords that decide the texts by themselves.
constexpr std::string_view kWhole[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"};
/// Keywords that say nothing about texts.
constexpr std::string_view kAnnotations[] = {"title",    "description", "default",    "examples", "example",   "$schema", "$id",
                                             "$comment", "$anchor",     "deprecated", "readOnly", "writeOnly", "$defs",   "definitions"};

unsigned type_of(const Json& value) {
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

std::string in(const std::string& path, std::string_view name) { return path.empty() ? std::string(name) : concat(path, '.', name); }
std::string in(const std::string& path, std::size_t number) { return concat(path, '[', number, ']'); }

template <class... Parts>
[[noreturn]] void refuse(const std::string& path, const Parts&... parts) {
  throw SchemaError(path, concat(path.empty() ? "the schema" : path, ' ', parts...));
}

/// Reads the part of a pointer after "#": "/$defs/node".
const Json& target_of(const Json& root, const std::string& pointer, const std::string& path) {
  const auto lost = [&]() {
    refuse(path, "is ", short_text(Json(pointer)), ", which leads nowhere, expected # or #/$defs/NAME of this schema");
  };
  if (!pointer.starts_with('#') || (pointer.size() > 1 && pointer[1] != '/')) {
    lost();
  }
  const Json* at = &root;
  for (std::size_t begin = 2; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string name;
    for (std::size_t i = begin; i < end; ++i) {
      if (pointer[i] == '~' && i + 1 < end) {
        name += pointer[++i] == '1' ? '/' : '~';
      } else if (unsigned byte = 0; pointer[i] == '%' && i + 2 < end &&
                                    std::from_chars(&pointer[i + 1], &pointer[i + 1] + 2, byte, 16).ptr == &pointer[i + 1] + 2) {
        name += static_cast<char>(byte);
        i += 2;
      } else {
        name += pointer[i];
      }
    }
    if (at->is_object() && at->contains(name)) {
      at = &(*at)[name];
    } else {
      std::size_t number = 0;
      const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (!at->is_array() || error != std::errc{} || rest != name.data() + name.size() || number >= at->size()) {
        lost();
      }
      at = &(*at)[number];
    }
    begin = end + 1;
  }
  return *at;
}

/// Strings of JSON, written without escapes, that are none of `names`.
Grammar other_names(const std::vector<std::string>& names, std::size_t done) {
  // `names` begin with the same bytes up to `done`, which is between two characters.
  std::map<std::string, std::vector<std::string>> next;  // by character
  bool is_name = false;
  for (const std::string& name : names) {
    if (name.size() == done) {
      is_name = true;
    } else {
      next[name.substr(done, static_cast<std::size_t>(utf8::decode(name, static_cast<index>(done)).bytes))].push_back(name);
    }
  }
  const std::vector<utf8::Range> raw = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, utf8::kLastCodePoint}};
  std::vector<utf8::Range> others;  // characters that lead away from all names
  std::vector<Grammar> ways;
  for (utf8::Range range : raw) {
    std::vector<char32_t> known;
    for (const auto& [character, some] : next) {
      known.push_back(utf8::decode(character, 0).code_point);
    }
    std::ranges::sort(known);
    for (const char32_t one : known) {
      if (range.first <= one && one <= range.last) {
        if (range.first < one) {
          others.push_back({range.first, one - 1});
        }
        range.first = one + 1;
      }
    }
    if (range.first <= range.last) {
      others.push_back(range);
    }
  }
  ways.push_back(sequence({one_character(others), repeat(one_character(raw), 0), literal("\"")}));
  if (!is_name) {
    ways.push_back(literal("\""));
  }
  for (const auto& [character, some] : next) {
    ways.push_back(sequence({literal(character), other_names(some, done + character.size())}));
  }
  return any_of(std::move(ways));
}

class SchemaReader {
 public:
  explicit SchemaReader(const Json& root) : root_(root) {}

  Grammar read_all() {
    Grammar start = read(root_, "", 0);
    std::vector<std::pair<Rule, Grammar>> rules;
    while (!waiting_.empty()) {
      const std::string pointer = waiting_.front();
      waiting_.pop_front();
      rules.emplace_back(rules_.at(pointer), read(target_of(root_, pointer, ""), path_of(pointer), 0));
    }
    return with_rules(std::move(start), std::move(rules));
  }

 private:
  static std::string path_of(const std::string& pointer) {
    std::string path = pointer.size() > 2 ? pointer.substr(2) : "";
    std::ranges::replace(path, '/', '.');
    return path;
  }

  Grammar read(const Json& schema, const std::string& path, int level) {
    if (level > kMostSchemaLevels) {
      refuse(path, "is nested more than ", kMostSchemaLevels, " levels deep");
    }
    if (schema == Json(true)) {
      return json_value();
    }
    if (!schema.is_object()) {
      refuse(path, "is ", short_text(schema), ", expected an object with keywords, or true");
    }
    check_keywords(schema, path);
    Grammar grammar = read_keywords(schema, path, level);
    if (const Json* nullable = schema.contains("nullable") ? &schema["nullable"] : nullptr;
        nullable != nullptr && *nullable == Json(true)) {
      return any_of({std::move(grammar), literal("null")});
    }
    return grammar;
  }

  void check_keywords(const Json& schema, const std::string& path) const {
    for (const auto& [name, value] : schema.items()) {
      if (name == "nullable") {
        if (!value.is_boolean()) {
          refuse(in(path, name), "is ", short_text(value), ", expected true or false");
        }
        continue;
      }
      if (name == "uniqueItems" && value == Json(false)) {
        continue;
      }
      const bool is_known = name == "type" || name.starts_with("x-") || std::ranges::find(kAnnotations, name) != std::end(kAnnotations) ||
                            std::ranges::find(kWhole, name) != std::end(kWhole) ||
                            std::ranges::find(kKeywords, name, &Keyword::name) != std::end(kKeywords);
      if (!is_known) {
        refuse(in(path, name), "is a keyword that is not supported: leave it out, and check the answer instead");
      }
    }
  }

  /// Returns the keyword that decides all by itself, or an empty name. No other keyword may limit the texts beside it.
  static std::string_view whole_keyword(const Json& schema, const std::string& path) {
    std::string_view whole;
    for (const std::string_view name : kWhole) {
      if (schema.contains(name)) {
        if (!whole.empty()) {
          refuse(in(path, name), "stands beside ", whole, ", which is not supported: write one of them");
        }
        whole = name;
      }
    }
    if (!whole.empty()) {
      const bool has_type = whole == "enum" || whole == "const";
      for (const auto& [name, value] : schema.items()) {
        const bool limits = (name == "type" && !has_type) || std::ranges::find(kKeywords, name, &Keyword::name) != std::end(kKeywords);
        if (limits) {
          refuse(in(path, name), "stands beside ", whole, ", which is not supported: put it into the parts of ", whole);
        }
      }
    }
    return whole;
  }

  Grammar read_keywords(const Json& schema, const std::string& path, int level) {
    const std::string_view whole = whole_keyword(schema, path);
    if (whole == "$ref") {
      return read_reference(schema["$ref"], in(path, "$ref"));
    }
    if (whole == "enum" || whole == "const") {
      return read_values(schema, path);
    }
    if (!whole.empty()) {
      return read_parts(schema[std::string(whole)], whole, in(path, whole), level);
    }
    const unsigned types = types_of(schema, path);
    if (types == kAllTypes) {
      return json_value();
    }
    std::vector<Grammar> ways;
    if ((types & kObject) != 0) {
      ways.push_back(read_object(schema, path, level));
    }
    if ((types & kArray) != 0) {
      ways.push_back(read_list(schema, path, level));
    }
    if ((types & kString) != 0) {
      ways.push_back(read_string(schema, path));
    }
    if ((types & (kInteger | kFraction)) != 0) {
      ways.push_back(read_number(schema, path, (types & kFraction) == 0));
    }
    if ((types & kBoolean) != 0) {
      ways.push_back(any_of({literal("true"), literal("false")}));
    }
    if ((types & kNull) != 0) {
      ways.push_back(literal("null"));
    }
    return any_of(std::move(ways));
  }

  /// Returns the types of a schema without a whole keyword. Without `type`, its keywords must be about one type, which is meant.
  static unsigned types_of(const Json& schema, const std::string& path) {
    if (!schema.contains("type")) {
      unsigned types = kAllTypes;
      std::string first;
      for (const auto& [name, value] : schema.items()) {
        const auto* keyword = std::ranges::find(kKeywords, name, &Keyword::name);
        if (keyword == std::end(kKeywords)) {
          continue;
        }
        if (first.empty()) {
          types = keyword->types;
          first = name;
        } else if (types != keyword->types) {
          refuse(path, "has ", first, " and ", name, ", which are about different types: say which one is meant with \"type\"");
        }
      }
      return types;
    }
    const Json& type = schema["type"];
    const Json list = type.is_array() ? type : Json::array({type});
    unsigned types = 0;
    for (const Json& one : list) {
      const auto* known = !one.is_string()
                              ? std::end(kTypes)
                              : std::ranges::find(kTypes, one.get<std::string>(), [](const auto& t) { return std::string(t.first); });
      if (known == std::end(kTypes)) {
        refuse(in(path, "type"), "is ", short_text(one),
               ", expected object, array, string, number, integer, boolean or null, or a list of them");
      }
      types |= known->second;
    }
    if (types == 0) {
      refuse(in(path, "type"), "is an empty list, expected at least one type");
    }
    return types;
  }

  Grammar read_reference(const Json& pointer, const std::string& path) {
    if (!pointer.is_string()) {
      refuse(path, "is ", short_text(pointer), ", expected a text such as #/$defs/NAME");
    }
    const std::string name = pointer.get<std::string>();
    target_of(root_, name, path);
    const auto [found, is_new] = rules_.try_emplace(name, concat("$ref ", short_text(pointer)));
    if (is_new) {
      waiting_.push_back(name);
    }
    return reference(found->second);
  }

  Grammar read_values(const Json& schema, const std::string& path) {
    const bool is_enum = schema.contains("enum");
    const Json& found = is_enum ? schema["enum"] : schema["const"];
    if (is_enum && (!found.is_array() || found.empty())) {
      refuse(in(path, "enum"), "is ", short_text(found), ", expected a list of one value or more");
    }
    const unsigned types = schema.contains("type") ? types_of(schema, path) : +kAllTypes;
    std::vector<Grammar> ways;
    for (const Json& value : is_enum ? found : Json::array({found})) {
      if ((type_of(value) & types) != 0) {
        ways.push_back(json_constant(value));
      }
    }
    if (ways.empty()) {
      refuse(in(path, is_enum ? "enum" : "const"), "has no value of the type beside it");
    }
    return any_of(std::move(ways));
  }

  Grammar read_parts(const Json& parts, std::string_view keyword, const std::string& path, int level) {
    if (!parts.is_array() || parts.empty()) {
      refuse(path, "is ", short_text(parts), ", expected a list of one schema or more");
    }
    if (keyword == "allOf" && parts.size() > 1) {
      refuse(path, "has ", parts.size(), " schemas, which is not supported: write them as one");
    }
    std::vector<Grammar> ways;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ways.push_back(read(parts[i], in(path, i), level + 1));
    }
    if (keyword == "oneOf") {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (compared_ > kMostComparisons) {
            refuse(path, "has too many schemas and values to compare: use anyOf");
          }
          if (!are_apart(parts[j], parts[i])) {
            refuse(path, "has schemas ", j, " and ", i,
                   ", which a value may match both: use anyOf, or give both a required property with different values of const or enum");
          }
        }
      }
    }
    return any_of(std::move(ways));
  }

  /// Follows references. Returns nullptr if they go round in a circle.
  const Json* resolved(const Json& schema) const {
    const Json* at = &schema;
    for (int i = 0; i < 16; ++i) {
      if (!at->is_object() || !at->contains("$ref")) {
        return at;
      }
      at = &target_of(root_, (*at)["$ref"].get<std::string>(), "$ref");
    }
    return nullptr;
  }

  /// The types that values of a schema can have.
  unsigned possible_types(const Json& schema) const {
    const Json* const at = resolved(schema);
    if (at == nullptr || !at->is_object() || (at->contains("nullable") && (*at)["nullable"] == Json(true))) {
      return kAllTypes;
    }
    if (const std::vector<Json> values = values_of(*at); !values.empty()) {
      unsigned types = 0;
      for (const Json& value : values) {
        types |= type_of(value);
      }
      return types;
    }
    return whole_keyword(*at, "").empty() ? types_of(*at, "") : +kAllTypes;
  }

  /// The values of enum or const; empty if there may be others.
  std::vector<Json> values_of(const Json& schema) const {
    const Json* const at = resolved(schema);
    if (at == nullptr || !at->is_object() || (at->contains("nullable") && (*at)["nullable"] == Json(true))) {
      return {};
    }
    if (at->contains("const")) {
      return {(*at)["const"]};
    }
    return at->contains("enum") ? (*at)["enum"].get<std::vector<Json>>() : std::vector<Json>{};
  }

  bool have_different_values(const Json& a, const Json& b) const {
    const std::vector<Json> of_a = values_of(a), of_b = values_of(b);
    compared_ += 1 + of_a.size() + of_b.size() + of_a.size() * of_b.size();
    if (compared_ > kMostComparisons) {
      return false;
    }
    return !of_a.empty() && !of_b.empty() &&
           std::ranges::none_of(of_a, [&](const Json& one) { return std::ranges::find(of_b, one) != of_b.end(); });
  }

  static bool requires_property(const Json& schema, const std::string& name) {
    return schema.contains("required") && std::ranges::find(schema["required"], Json(name)) != schema["required"].end();
  }

  /// Whether no value matches both. Both have been read.
  bool are_apart(const Json& a, const Json& b) const {
    if ((possible_types(a) & possible_types(b)) == 0 || have_different_values(a, b)) {
      return true;
    }
    const Json *const one = resolved(a), *const other = resolved(b);
    const auto is_object = [&](const Json* schema) {
      return schema != nullptr && schema->is_object() && schema->contains("properties") && possible_types(*schema) == kObject;
    };
    if (!is_object(one) || !is_object(other)) {
      return false;
    }
    const auto size_of = [](const Json& schema, const char* name) { return schema.contains(name) ? schema[name].size() + 1 : 1; };
    compared_ += size_of(*one, "properties") * (size_of(*other, "properties") + size_of(*one, "required") + size_of(*other, "required"));
    if (compared_ > kMostComparisons) {
      return false;
    }
    for (const auto& [name, property] : (*one)["properties"].items()) {
      const Json& others = (*other)["properties"];
      if (others.contains(name) && requires_property(*one, name) && requires_property(*other, name) &&
          have_different_values(property, others[name])) {
        return true;
      }
    }
    return false;
  }

  static index count_of(const Json& schema, const char* name, const std::string& path, index by_default) {
    if (!schema.contains(name)) {
      return by_default;
    }
    const Json& value = schema[name];
    const bool is_count = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= static_cast<double>(kMostItems) &&
                          type_of(value) == kInteger;
    if (!is_count) {
      refuse(in(path, name), "is ", short_text(value), ", expected an integer from 0 to ", kMostItems);
    }
    return static_cast<index>(value.get<double>());
  }

  Grammar read_object(const Json& schema, const std::string& path, int level) {
    // The keywords.
    const Json properties = schema.contains("properties") ? schema["properties"] : Json::object();
    if (!properties.is_object()) {
      refuse(in(path, "properties"), "is ", short_text(properties), ", expected an object of schemas");
    }
    std::vector<std::string> required;
    if (schema.contains("required")) {
      const Json& list = schema["required"];
      if (!list.is_array() || !std::ranges::all_of(list, [](const Json& one) { return one.is_string(); })) {
        refuse(in(path, "required"), "is ", short_text(list), ", expected a list of names");
      }
      required = list.get<std::vector<std::string>>();
    }
    const Json others = schema.contains("additionalProperties") ? schema["additionalProperties"] : Json(!schema.contains("properties"));
    const bool has_others = others != Json(false);
    if (properties.empty() && required.empty() && others == Json(true)) {
      return json_object();
    }

    // The properties in their order, then those that are only required, then others.
    std::vector<Separable> parts;
    std::vector<std::string> names;
    const std::set<std::string> all_required(required.begin(), required.end());
    std::set<std::string> known;
    const auto add = [&](const std::string& name, Grammar value, bool is_optional) {
      names.push_back(name);
      known.insert(name);
      parts.push_back({sequence({literal(json_text(Json(name))), json_colon(), std::move(value)}), is_optional});
    };
    for (const auto& [name, property] : properties.items()) {
      add(name, read(property, in(in(path, "properties"), name), level + 1), !all_required.contains(name));
    }
    const Grammar other = has_others ? shared(read(others, in(path, "additionalProperties"), level + 1)) : json_value();
    for (const std::string& name : required) {
      if (!known.contains(name)) {
        if (!has_others) {
          refuse(in(path, "required"), "has ", short_text(Json(name)), ", which is not one of the properties: add it to them");
        }
        add(name, other, false);
      }
    }
    if (has_others) {
      for (const std::string& name : names) {
        if (name.size() > kLongestName) {
          refuse(in(path, "additionalProperties"), "stands beside a property with a name of ", name.size(), " bytes, expected at most ",
                 kLongestName);
        }
      }
      const Grammar field = shared(sequence({literal("\""), other_names(names, 0), json_colon(), other}));
      parts.push_back({sequence({field, repeat(sequence({json_comma(), field}), 0)}), true});
    }
    if (parts.empty()) {
      return literal("{}");
    }
    const bool can_be_empty = std::ranges::all_of(parts, &Separable::is_optional);
    Grammar full = sequence({literal("{"), json_space(), separated(std::move(parts), json_comma()), json_space(), literal("}")});
    return can_be_empty ? any_of({literal("{}"), std::move(full)}) : full;
  }

  Grammar read_list(const Json& schema, const std::string& path, int level) {
    // The keywords.
    const Json first = schema.contains("prefixItems") ? schema["prefixItems"] : Json::array();
    if (!first.is_array()) {
      refuse(in(path, "prefixItems"), "is ", short_text(first), ", expected a list of schemas");
    }
    const Json items = schema.contains("items") ? schema["items"] : Json(first.empty());
    if (items.is_array()) {
      refuse(in(path, "items"), "is a list, which is not supported: name it prefixItems");
    }
    const auto fixed = std::ssize(first);
    const bool has_more = items != Json(false);
    const index least = count_of(schema, "minItems", path, 0);
    index most = count_of(schema, "maxItems", path, has_more ? -1 : fixed);
    if (!has_more) {
      most = std::min(most, fixed);
    }
    if (most >= 0 && least > most) {
      refuse(in(path, "minItems"), "is ", least, ", but the list can have at most ", most, " items");
    }
    std::vector<Grammar> parts;
    for (std::size_t i = 0; i < first.size(); ++i) {
      parts.push_back(read(first[i], in(in(path, "prefixItems"), i), level + 1));
    }
    if (most == 0) {
      return literal("[]");
    }

    // What follows an item: from the end to the beginning.
    const Grammar item = has_more ? shared(read(items, in(path, "items"), level + 1)) : literal("null");
    const index before = std::max<index>(fixed, 1);  // items that stand before the repeated ones
    Grammar rest = sequence({});
    if (has_more && (most < 0 || most > before)) {
      rest = repeat(sequence({json_comma(), item}), std::max<index>(least - before, 0),
                    most < 0 ? std::nullopt : std::optional(most - before));
    }
    for (index i = (most < 0 ? before : std::min(before, most)) - 1; i > 0; --i) {
      rest = sequence({json_comma(), parts[static_cast<std::size_t>(i)], std::move(rest)});
      if (i >= least) {
        rest = optional(std::move(rest));
      }
    }
    Grammar full = sequence({literal("["), json_space(), parts.empty() ? item : parts[0], std::move(rest), json_space(), literal("]")});
    return least == 0 ? any_of({literal("[]"), std::move(full)}) : full;
  }

  Grammar read_string(const Json& schema, const std::string& path) {
    const index least = count_of(schema, "minLength", path, 0);
    const index most = count_of(schema, "maxLength", path, -1);
    if (most >= 0 && least > most) {
      refuse(in(path, "minLength"), "is ", least, ", but maxLength is ", most);
    }
    const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
    const bool has_pattern = schema.contains("pattern"), has_format = schema.contains("format");
    if (has_pattern && has_format) {
      refuse(in(path, "format"), "stands beside pattern, which is not supported: write one of them");
    }
    if (!has_pattern && !has_format) {
      return json_string(least, most < 0 ? std::nullopt : std::optional(most));
    }
    const char* const name = has_pattern ? "pattern" : "format";
    if (!schema[name].is_string()) {
      refuse(in(path, name), "is ", short_text(schema[name]), ", expected a text");
    }
    if (has_length) {
      refuse(in(path, schema.contains("minLength") ? "minLength" : "maxLength"), "stands beside ", name,
             ", which is not supported: write the length into a pattern, as in ^[a-z]{1,20}$");
    }
    std::string pattern = schema[name].get<std::string>();
    if (has_format) {
      const std::optional<std::string> known = format_pattern(pattern);
      if (!known) {
        refuse(in(path, name), "is ", short_text(Json(pattern)), ", which is not supported, expected ", format_names(), ", or a pattern");
      }
      pattern = *known;
    }
    try {
      const Grammar text = regex(pattern, {.whole = has_format, .character = json_character});
      return sequence({literal("\""), text, literal("\"")});
    } catch (const RegexError& error) {
      refuse(in(path, name), "is not supported: ", error.what());
    }
  }

  /// Returns the tighter of two bounds of numbers.
  static std::optional<NumberBound> bound_of(const Json& schema, const char* name, const char* exclusive, const std::string& path,
                                             std::int64_t largest, bool is_low) {
    std::optional<NumberBound> bound;
    for (const char* const key : {name, exclusive}) {
      if (!schema.contains(key)) {
        continue;
      }
      const Json& value = schema[key];
      if (!value.is_number() || type_of(value) != kInteger || std::abs(value.get<double>()) > static_cast<double>(largest)) {
        refuse(in(path, key), "is ", short_text(value), ", expected an integer from ", -largest, " to ", largest);
      }
      const NumberBound found{static_cast<std::int64_t>(value.get<double>()), key == exclusive};
      if (!bound || (is_low ? found.value >= bound->value : found.value <= bound->value)) {
        bound = found;
      }
    }
    return bound;
  }

  static Grammar read_number(const Json& schema, const std::string& path, bool is_integer) {
    const std::int64_t largest = is_integer ? kLargestIntegerBound : kLargestNumberBound;
    const auto low = bound_of(schema, "minimum", "exclusiveMinimum", path, largest, true);
    const auto high = bound_of(schema, "maximum", "exclusiveMaximum", path, largest, false);
    if (!low && !high) {
      return is_integer ? json_integer() : json_number();
    }
    try {
      return is_integer ? integers_within(low, high) : numbers_within(low, high);
    } catch (const InputError& error) {
      refuse(path, "has bounds that no number keeps: ", error.what());
    }
  }

  const Json& root_;
  std::map<std::string, Rule> rules_;  // by pointer
  mutable std::size_t compared_ = 0;
  std::deque<std::string> waiting_;  // pointers whose rules have no grammar so far
};

}  // namespace

Grammar json_schema(const Json& schema) { return SchemaReader(schema).read_all(); }

}  // namespace dikkat
