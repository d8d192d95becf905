#include "train/exchange/untrusted_json.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

using nlohmann::json;

json parse_untrusted_object(std::string_view text, const std::string& name, const char* expected) {
  constexpr std::size_t kMostBytes = 1 << 20;
  constexpr int kMostLevels = 32;
  require_input(text.size() <= kMostBytes, name, " has ", text.size(), " bytes, expected at most ", kMostBytes);
  int levels = 0, deepest = 0;
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
    }
  }
  require_input(deepest <= kMostLevels, name, " is nested too deeply, expected at most ", kMostLevels, " levels");
  json object = json::parse(text, nullptr, false);
  require_input(object.is_object(), name, " is not a JSON object, expected ", expected);
  return object;
}

std::string short_text(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

}  // namespace dikkat
