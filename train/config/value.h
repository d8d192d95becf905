#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat::schema {

/// What a key holds. Empty: not given, and the default depends on other keys.
using Value = std::variant<std::monostate, bool, index, double, std::string, std::vector<std::string>>;
/// In the order of Value's alternatives.
enum class Type : unsigned char { unset, boolean, integer, number, text, list };

/// "true or false", "an integer", ...: what an error says was expected.
std::string_view name_of(Type type);

/// The value as TOML writes it, in a form that reads back to the same value: a number always has a point or an exponent.
std::string to_toml(const Value& value);
/// A TOML string: quotes, backslashes and control characters are escaped.
std::string toml_string(std::string_view text);
/// The text in quotes for an error of one line: escaped, invalid UTF-8 replaced, and cut where it is long.
std::string in_quotes(std::string_view text);

/// The text with its control characters as spaces: errors are one line each.
std::string one_line(std::string text);

/// Whether the text can stand in a TOML file.
bool is_utf8(std::string_view text);

}  // namespace dikkat::schema
