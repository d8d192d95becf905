#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/api_request.h"

namespace dikkat::serve {

/// Checks the name of every field of a request. A field is honored, has no effect on the text, or would change the text in an unsupported
/// way; then only values without effect are accepted. Throws ApiError for another value, and for an unknown name, as OpenAI's API does.
/// Otherwise a misspelled "max_token" would be ignored silently. A field with null counts as missing.
void check_fields(const nlohmann::json& request, Endpoint endpoint);

/// Returns "is 7" or "is a list of 3", for messages.
std::string found_value(const nlohmann::json& value);

}  // namespace dikkat::serve
