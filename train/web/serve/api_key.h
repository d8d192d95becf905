#pragma once

#include <optional>
#include <string>

#include "train/web/http/http_server.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {

/// Returns the error for a request that does not have the key, in one of the headers "Authorization: Bearer KEY" and "x-api-key: KEY". The
/// time of the comparison does not depend on the key's bytes.
std::optional<ApiError> key_error(const HttpRequest& request, const std::string& key);

}  // namespace dikkat::serve
