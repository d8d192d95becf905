#include "train/text/tokenizer_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"

namespace dikkat {

using nlohmann::json;

namespace {

constexpr const char* kExpected = ", expected a tokenizer that dikkat or Hugging Face's library wrote";

/// Throws InputError for a text with more values or levels than any tokenizer has. Call it before parsing.
void require_bounds(std::string_view text) {
  constexpr int kMostLevels = 100;               // a parser recurses for each level, and the stack is limited
  constexpr index kMostValues = index{1} << 24;  // a value of two bytes in the text takes up to 64 bytes of memory
  int depth = 0;
  index values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '[':
      case '{':
        require_input(++depth <= kMostLevels, "tokenizer: its description is nested too deeply", kExpected);
        ++values;
        break;
      case ']':
      case '}': --depth; break;
      case ',': ++values; break;
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1U : 0U;
        }
        break;
      default: break;
    }
    require_input(values <= kMostValues, "tokenizer: its description holds more than ", grouped_digits(kMostValues), " values", kExpected);
  }
}

const json& field_named(const json& object, const char* name) {
  const auto field = object.find(name);
  require_input(field != object.end(), "tokenizer: its description has no field \"", name, "\"");
  return *field;
}

}  // namespace

json parse_tokenizer(std::string_view text) {
  require_bounds(text);
  json object;
  try {
    object = json::parse(text);
  } catch (const json::parse_error& error) {
    fail_input("tokenizer: its description is not valid JSON at byte ", error.byte, kExpected);
  } catch (const json::exception&) {  // a number out of range
    fail_input("tokenizer: its description is JSON that cannot be read", kExpected);
  }
  require_input(object.is_object(), "tokenizer: its description is a JSON ", object.type_name(), ", expected an object");
  return object;
}

void require_fields(const json& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    require_input(object.contains(name), "tokenizer: its description has no field \"", name, "\"");
  }
  for (const auto& field : object.items()) {
    require_input(std::find(names.begin(), names.end(), field.key()) != names.end(), "tokenizer: its description has a field \"",
                  field.key(), "\" that this program does not know: a newer dikkat may have written it");
  }
}

std::string string_field(const json& object, const char* name) {
  const json& field = field_named(object, name);
  require_input(field.is_string(), "tokenizer: the field \"", name, "\" of its description is a JSON ", field.type_name(),
                ", expected a string");
  return field.get<std::string>();
}

std::vector<std::string> strings_field(const json& object, const char* name) {
  const json& field = field_named(object, name);
  require_input(field.is_array() && std::all_of(field.begin(), field.end(), [](const json& item) { return item.is_string(); }),
                "tokenizer: the field \"", name, "\" of its description is not a JSON array of strings");
  return field.get<std::vector<std::string>>();
}

}  // namespace dikkat
