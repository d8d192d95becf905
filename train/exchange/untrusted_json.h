#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/text/json_line.h"

namespace dikkat {

/// What a JSON text may have at most.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  int levels = 32;                            // of nesting: a parser's stack does not like more
  std::size_t values = std::size_t{1} << 20;  // about: commas and brackets are counted. A value takes some 100 bytes of memory
};

/// Parses a JSON object that may come from anybody. Throws InputError, which begins with `name`, for another text; `expected` says what it
/// should be: "a config.json of Hugging Face".
nlohmann::json parse_untrusted_object(std::string_view text, const std::string& name, const char* expected, const JsonLimits& limits = {});

}  // namespace dikkat
