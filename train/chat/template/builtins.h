#pragma once

#include <string_view>

#include "train/chat/template/arguments.h"

// The filters, tests and methods that templates may use. Each throws TemplateError where Python or Jinja raises an exception.
namespace dikkat::jinja {

using Filter = Value (*)(const Value& subject, Arguments& arguments);
using Test = bool (*)(const Value& subject, Arguments& arguments);

/// Returns the filter or test with a name; nullptr if there is none.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);

/// Calls a method of a str, list or dict. Throws TemplateError if the value has no such method.
Value call_method(const Value& object, std::string_view name, Arguments& arguments);

/// Returns text without the white space at its ends, or without the characters of `characters`.
MarkedText strip(const MarkedText& text, const MarkedText* characters = nullptr, bool begin = true, bool end = true);

}  // namespace dikkat::jinja
