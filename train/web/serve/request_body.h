#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/system/json.h"
#include "train/system/json_fields.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"

// Functions that read the bodies of requests. Their errors are ApiErrors.
namespace dikkat::serve {

inline constexpr JsonLimits kBodyLimits{.bytes = kLargestRequest, .levels = 32, .values = std::size_t{1} << 17};

/// Throws a refusal of a field's value.
template <class... Parts>
[[noreturn]] void refuse(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(parts...), field, "invalid_value");
}

/// Parses a body. Throws ApiError for anything but a JSON object.
nlohmann::json parse_body(std::string_view body);
/// Parses a JSON text and keeps the order of its fields, as templates and schemas need it. The time is quadratic in the fields of an
/// object, so throws ApiError, whose param is `field`, for too many. Throws JsonError.
nlohmann::ordered_json parse_in_order(std::string_view text, const JsonLimits& limits, const std::string& field = "");
/// Returns the fields of an object, and keeps a reference to it.
JsonFields fields_of(const nlohmann::json& object);
/// Throws ApiError for a field that is not one of `names`, unless it is null.
void require_names(const nlohmann::json& object, std::initializer_list<std::string_view> names);
/// Returns the name of the model that a request asks for, by default the first one. Throws ApiError, a 404, if it is not one of `models`.
std::string read_model(const JsonFields& fields, const std::vector<std::string>& models);

}  // namespace dikkat::serve
