#pragma once

#include <nlohmann/json.hpp>

#include "train/cli/terminal/streams.h"
#include "train/system/json.h"

namespace dikkat {

/// Prints the object on one line. Bytes that are not UTF-8 become U+FFFD, and numbers that are not finite become null.
inline void print_json(const nlohmann::ordered_json& object) { print_result(json_text(object) + '\n'); }

}  // namespace dikkat
