#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat::schema {

/// The value of a key. It is empty if the key is not set and its default depends on other keys.
using Value = std::variant<std::monostate, bool, index, double, std::string, std::vector<std::string>, std::vector<double>>;
/// The type of a key, in the order of Value's alternatives.
enum class Type : unsigned char { unset, boolean, integer, number, text, list, numbers };

/// Returns the expected type for an error: "true or false", "an integer", ...
std::string_view name_of(Type type);

/// Returns the value in TOML syntax, such that it reads back to the same value: a number always has a point or an exponent.
std::string to_toml(const Value& value);
/// Returns a TOML string: quotes, backslashes and control characters are escaped.
std::string toml_string(std::string_view text);
/// Returns the text in quotes for an error of one line: escaped, with invalid UTF-8 replaced, and cut if it is long.
std::string in_quotes(std::string_view text);

/// Returns the text with its control characters replaced by spaces, because each error is one line.
std::string one_line(std::string text);

/// Returns whether the text is valid UTF-8, as a TOML file requires.
bool is_utf8(std::string_view text);

}  // namespace dikkat::schema
