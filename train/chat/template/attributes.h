#pragma once

#include <string_view>

#include "train/chat/template/value.h"

// The attributes and items of values, as Jinja's sandbox looks them up.
namespace dikkat::jinja {

/// Returns whether Python's type of the value has an attribute with this name, such as the method upper of a str. It comes before a dict's
/// key in `value.name`, and after it in `value['name']`.
bool has_attribute(const Value& object, std::string_view name);

/// Returns whether a method changes a list or dict, which Jinja's sandbox does not allow.
bool is_changing_method(const Value& object, std::string_view name);

/// Returns object.name. Undefined if there is none, and if the sandbox forbids it. Throws TemplateError for attributes that are not
/// supported, and for attributes of an undefined value.
Value attribute(const Value& object, std::string_view name);

/// Returns object[key]. Undefined and errors are those of attribute().
Value subscript(const Value& object, const Value& key);

}  // namespace dikkat::jinja
