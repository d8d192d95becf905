#include "train/exchange/untrusted_json.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/system/placeholder.h"

namespace dikkat {

using nlohmann::json;

json parse_untrusted_object(std::string_view text, const std::string& name, const char* expected, const JsonLimits& limits) {
  require_no_placeholder(text, name);
  require_input(text.size() <= limits.bytes, name, " has ", text.size(), " bytes, expected at most ", limits.bytes);

  // Depth and values are counted before parsing, because the parser has no limits.
  int levels = 0, deepest = 0;
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1U : 0U;
      in_string = c != '"';
    } else {
      in_string = c == '"';
      levels += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      deepest = std::max(deepest, levels);
      values += c == '{' || c == '[' || c == ',' ? 1U : 0U;
    }
  }
  require_input(deepest <= limits.levels, name, " is nested too deeply, expected at most ", limits.levels, " levels");
  require_input(values <= limits.values, name, " has too many values, expected at most ", limits.values);

  // Parsing.
  json object;
  std::size_t wrong = 0;  // the byte of an error, counted from 1
  try {
    object = json::parse(text);
  } catch (const json::parse_error& error) {
    wrong = std::max<std::size_t>(error.byte, 1);
  } catch (const json::out_of_range&) {
    fail_input(name, " has a number that is too large for f64, expected at most 1.8e308");
  }
  require_input(object.is_object(), name, " is not a JSON object, expected ", expected,
                wrong > text.size() ? "; it is truncated"
                : wrong > 0         ? concat("; the error is near byte ", wrong)
                                    : "");
  return object;
}

}  // namespace dikkat
