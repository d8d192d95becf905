#pragma once

#include <nlohmann/json.hpp>

#include "train/cli/streams.h"
#include "train/system/json.h"

namespace dikkat {

/// Prints the object on one line. Bytes that are not UTF-8 become U+FFFD.
inline void put_json(const nlohmann::ordered_json& object) { put(json_text(object) + '\n'); }

}  // namespace dikkat
