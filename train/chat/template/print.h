#pragma once

#include <optional>
#include <string_view>

#include "train/chat/template/value.h"

namespace dikkat::jinja {

/// The style in which a value is written as JSON.
struct JsonStyle {
  std::optional<std::int64_t> indent{};  // spaces per level, each item on its own line; otherwise everything is on one line
  bool ascii = false;                    // whether other characters are written as \u escapes
  bool sorts_keys = false;
  std::optional<MarkedText> between_items{}, after_key{};  // otherwise ", " (with indent ",") and ": "
};

/// Returns the text that Python's json.dumps() writes, as the filter tojson does in chat templates. Texts in it keep their marks. Throws
/// TemplateError for values that JSON does not have.
MarkedText json_of(const Value& value, const JsonStyle& style);

/// Returns a text in which the characters & < > ' " are escaped for HTML. They keep their marks.
MarkedText escaped(const MarkedText& text);

/// Returns Python's text for a float: the shortest that reads back to the same number.
std::string float_text(double number);

}  // namespace dikkat::jinja
