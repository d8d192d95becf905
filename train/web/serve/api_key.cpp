#include "train/web/serve/api_key.h"

#include <algorithm>
#include <string_view>

namespace dikkat::serve {
namespace {

/// Returns whether the keys are equal. The time depends only on the length of `sent`.
bool is_same_secret(const std::string& secret, const std::string& sent) {
  volatile unsigned different = secret.size() == sent.size() ? 0 : 1;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    different = different | static_cast<unsigned char>(secret[i % secret.size()] ^ sent[i]);
  }
  return different == 0;
}

}  // namespace

std::optional<ApiError> key_error(const HttpRequest& request, const std::string& key) {
  constexpr std::string_view kScheme = "bearer ";  // may be in upper or lower case (RFC 9110, 11.1)
  const std::string_view scheme = std::string_view(request.authorization).substr(0, kScheme.size());
  const bool is_bearer =
      std::ranges::equal(scheme, kScheme, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  if ((is_bearer && is_same_secret(key, request.authorization.substr(kScheme.size()))) ||
      (!request.api_key.empty() && is_same_secret(key, request.api_key))) {
    return std::nullopt;
  }
  return ApiError(401,
                  is_bearer || !request.api_key.empty() ? "the API key is not the one that this server was started with"
                                                        : "expected a header Authorization: Bearer KEY, or x-api-key: KEY",
                  "", "invalid_api_key");
}

}  // namespace dikkat::serve
