#pragma once

#include <string>
#include <string_view>

namespace dikkat::schema {

/// Describes the error in a text that is not TOML: the parser's description, advice on a common mistake in the line (counted from 1), and
/// the line itself.
std::string syntax_problem(std::string_view text, std::size_t line, std::string_view description);

/// Returns whether the text has so many dots, outside of strings and comments, that its nested tables may overflow the parser's stack.
bool nests_too_deep(std::string_view text);

}  // namespace dikkat::schema
