#pragma once

#include <string>
#include <string_view>

namespace dikkat::schema {

/// The sentence on a text that is not TOML: the parser's description of the error, advice where the line (counted from 1) shows a
/// common slip, and the line itself.
std::string syntax_problem(std::string_view text, std::size_t line, std::string_view description);

/// Whether the text has so many dots outside of strings and comments that its tables may nest deeper than a parser's stack.
bool nests_too_deep(std::string_view text);

}  // namespace dikkat::schema
