#pragma once

#include "train/chat/template/arguments.h"
#include "train/chat/template/marked_text.h"

// These are the methods of Python's str. Characters keep their marks.
namespace dikkat::jinja {

MarkedText upper_case(const MarkedText& text);
MarkedText lower_case(const MarkedText& text);
/// Returns the text with a large first letter and small others.
MarkedText capitalized(const MarkedText& text);
/// Return the text with a large letter at the beginning of each word. For str.title(), a word begins after any character that is not a
/// letter; for Jinja's filter, after white space and opening brackets.
MarkedText python_title(const MarkedText& text);
MarkedText jinja_title(const MarkedText& text);

/// Returns whether the text has large or small letters, and only those of this case.
bool is_in_case(const MarkedText& text, bool upper);

/// Returns the text with `old` replaced by `new`, at most `count` times.
Value replace_in(const MarkedText& text, Arguments& arguments);

/// Calls a method of str. Throws TemplateError if str has no such method, or if it is not supported.
Value call_text_method(const MarkedText& text, std::string_view name, Arguments& arguments);

}  // namespace dikkat::jinja
