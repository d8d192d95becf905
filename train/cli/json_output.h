#pragma once

#include <nlohmann/json.hpp>

#include "train/cli/streams.h"

namespace dikkat {

/// Prints the object on one line. Bytes that are not UTF-8 become U+FFFD.
inline void put_json(const nlohmann::ordered_json& object) {
  put(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace dikkat
