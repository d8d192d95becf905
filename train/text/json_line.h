#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"

namespace dikkat {

/// Thrown for a line that is not JSON. Its text continues "FILE: line 4, ": "column 17: not valid JSON: unexpected '}'; expected string
/// literal".
class BadJson : public InputError {
 public:
  using InputError::InputError;
};

/// Parses a line of JSONL. Throws BadJson, which has the column (in characters, from 1) and what is wrong there, and InputError for a
/// number beyond those of f64.
nlohmann::json parse_json_line(std::string_view line);

/// A value for messages, cut where it is long.
std::string short_text(const nlohmann::json& value);

}  // namespace dikkat
