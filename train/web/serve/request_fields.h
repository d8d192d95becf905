#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/api_request.h"

namespace dikkat {

/// Checks the name of every field of a request. A field is honoured, has no effect on the text, or would change the text in a way that this
/// server does not support; then only values that have no effect are accepted. Throws ApiError for another value, and for an unknown name:
/// OpenAI's API refuses those too, and a misspelt "max_token" would otherwise be ignored silently. A field with null counts as missing.
void check_fields(const nlohmann::json& request, Endpoint endpoint);

/// Returns "is 7" or "is a list of 3", for messages.
std::string found_value(const nlohmann::json& value);

}  // namespace dikkat
