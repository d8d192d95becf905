#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/api_request.h"

namespace dikkat {

/// Checks the name of every field of a request. A field is honoured, has no effect on the text, or would change it in a way that this
/// server does not do; then only values that ask for nothing are accepted. Throws ApiError for another value, and for a name that is not
/// known: OpenAI's API refuses those too, and a misspelt "max_token" would otherwise be dropped in silence. A field with null is as if it
/// were not there.
void check_fields(const nlohmann::json& request, Endpoint endpoint);

/// "is 7" or "is a list of 3", for messages.
std::string found_value(const nlohmann::json& value);

}  // namespace dikkat
