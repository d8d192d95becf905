#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/chat/template/value.h"

// A message's content may be a list of parts: [{"type": "text", "text": "..."}, ...]. Some templates handle such lists, others only
// strings.
namespace dikkat {

/// Returns the parts as one text, with `separator` between them.
std::string joined_parts(std::span<const std::string> parts, std::string_view separator);

/// Returns the parts as a template gets them. Their texts are marked with `origin`.
jinja::Value parts_value(std::span<const std::string> parts, jinja::Origin origin);

/// Returns the roles in whose messages a template handles lists of parts. A list counts as handled if the template writes the texts of two
/// parts and nothing else of the list. `render` renders a list of messages, and may throw jinja::TemplateError.
std::vector<std::string> roles_with_parts(const std::function<jinja::MarkedText(jinja::Value messages)>& render);

}  // namespace dikkat
