#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/system/json.h"
#include "train/system/json_fields.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"

// Reading of the bodies of requests, whose errors are ApiErrors.
namespace dikkat {

inline constexpr JsonLimits kBodyLimits{.bytes = kLargestRequest, .levels = 32, .values = std::size_t{1} << 17};

/// Throws a refusal of a field's value.
template <class... Parts>
[[noreturn]] void refuse(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(parts...), field, "invalid_value");
}

/// Parses a body. Throws ApiError for anything but a JSON object.
nlohmann::json parse_body(std::string_view body);
/// Parses a JSON text whose fields stay in their order, as templates and schemas need them. A search for each field's name goes through all
/// others of its object, so there must not be too many: throws ApiError, whose param is `field`, if there are. Throws JsonError.
nlohmann::ordered_json parse_in_order(std::string_view text, const JsonLimits& limits, const std::string& field = "");
/// Returns the fields of an object, to which a reference is kept.
JsonFields fields_of(const nlohmann::json& object);
/// Throws ApiError for a field that is not one of `names`, unless it is null.
void require_names(const nlohmann::json& object, std::initializer_list<std::string_view> names);
/// Returns the name of the model that a request asks for, by default the first one. Throws ApiError, a 404, if it is none of `models`.
std::string read_model(const JsonFields& fields, const std::vector<std::string>& models);

}  // namespace dikkat
