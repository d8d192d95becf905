#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"

namespace dikkat {

/// Thrown for a line that is not JSON. The message continues "FILE: line 4, " with "column 17: not valid JSON: unexpected '}'; expected
/// string literal".
class BadJson : public InputError {
 public:
  using InputError::InputError;
};

/// Parses a line of JSONL. Throws BadJson with the column (in characters, from 1) and the problem there. Throws InputError for a number
/// that is too large for an f64.
nlohmann::json parse_json_line(std::string_view line);

/// Returns a value for a message, cut if it is long.
std::string short_text(const nlohmann::json& value);

}  // namespace dikkat
