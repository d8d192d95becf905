#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/text/json_line.h"

namespace dikkat {

/// Limits of a JSON text.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  int levels = 32;                            // nested objects and arrays, which use the parser's stack
  std::size_t values = std::size_t{1} << 20;  // counted as commas and brackets; a value takes about 100 bytes of memory
};

/// Parses a JSON object from an untrusted source. Throws InputError, which begins with `name`, if the text is not a JSON object or exceeds
/// the limits. `expected` describes the file in the message: "a config.json of Hugging Face".
nlohmann::json parse_untrusted_object(std::string_view text, const std::string& name, const char* expected, const JsonLimits& limits = {});

}  // namespace dikkat
