#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/grammar/grammar.h"

namespace dikkat::serve {

/// A restriction of a request's answer to some texts.
struct StructuredRequest {
  enum class Kind { any, object, schema, regex, choice };

  Kind kind = Kind::any;
  std::string text{};   // schema and choice: JSON; regex: the pattern
  std::string field{};  // its place in the request: "response_format.json_schema.schema"

  bool operator==(const StructuredRequest&) const = default;
};

/// Returns the texts that a request asks for; nullopt if they may be any. Throws ApiError, which names the keyword or the position, for a
/// schema or a regular expression that cannot be used. Calls `on_progress` often, if it is not empty, and rethrows its exceptions.
std::optional<Grammar> content_grammar(const StructuredRequest& request, const std::function<void()>& on_progress = {});

}  // namespace dikkat::serve
