#pragma once

#include <string_view>

#include "train/chat/template/syntax.h"

namespace dikkat::jinja {

/// Returns the syntax tree of a template. `source` must be valid UTF-8. Throws TemplateError, whose message begins with the line.
Statements parse_template(std::string_view source);

}  // namespace dikkat::jinja
