#pragma once

#include "train/chat/template/arguments.h"
#include "train/chat/template/value.h"

// Python's two ways to format values into a text. Characters keep their marks.
namespace dikkat::jinja {

/// Returns text.format(arguments), with the format specifications of Python's documentation ("Format Specification Mini-Language"). Throws
/// TemplateError for formats that Python refuses, the alternate form of floats, a precision without a type, and grouping with zeros.
MarkedText formatted(const MarkedText& text, Arguments& arguments);

/// Returns text % values, as Python's "printf-style String Formatting": `values` is a tuple, a dict for %(name)s, or the only value. Throws
/// TemplateError for formats that Python refuses, and for a precision of integers.
Value percent_format(const Value& text, const Value& values);

}  // namespace dikkat::jinja
