#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat::jinja {

/// A token of a template's source.
struct TemplateToken {
  enum class Kind : std::uint8_t {
    text,             // the text outside of tags, with white space removed as in Jinja
    print_begin,      // {{
    print_end,        // }}
    statement_begin,  // {%
    statement_end,    // %}
    name,
    integer,
    real,
    string,  // its value, without quotes and escapes
    symbol,  // an operator or a bracket
    end,
  };
  Kind kind = Kind::end;
  std::string text{};
  int line = 0;  // counted from 1

  bool is(Kind wanted, std::string_view wanted_text) const { return kind == wanted && text == wanted_text; }
};

/// Splits a template into tokens, with Jinja's options trim_blocks and lstrip_blocks. The line break after a tag is removed, and so is the
/// white space before it if nothing else precedes it on its line. Comments and {% raw %} are resolved. `source` must be valid UTF-8. Throws
/// TemplateError.
std::vector<TemplateToken> template_tokens(std::string_view source);

}  // namespace dikkat::jinja
