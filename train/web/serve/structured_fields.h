#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/structured_request.h"

namespace dikkat::serve {

/// Reads the fields of a request that restrict its answer: OpenAI's response_format, SGLang's regex, vLLM's guided_json, guided_regex,
/// guided_choice and structured_outputs, and llama.cpp's json_schema. Throws ApiError for a wrong value, and for more than one of them.
StructuredRequest read_structured_request(const nlohmann::ordered_json& request);

}  // namespace dikkat::serve
