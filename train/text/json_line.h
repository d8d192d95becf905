#pragma once

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

/// Parses a line of JSONL. Throws BadJson with the column (in characters, from 1) and the problem there. Throws JsonError for a line that
/// exceeds the limits (train/system/json.h).
template <class Json = nlohmann::json>
Json parse_json_line(std::string_view line);

}  // namespace dikkat
