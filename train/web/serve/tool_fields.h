#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/web/serve/tool_request.h"

namespace dikkat::serve {

/// Reads the fields tools, tool_choice and parallel_tool_calls of a request. Throws ApiError.
ToolRequest read_tool_request(const nlohmann::ordered_json& request);

/// Reads the fields about reasoning, and chat_template_kwargs. Throws ApiError.
ReasoningRequest read_reasoning_request(const nlohmann::ordered_json& request);

}  // namespace dikkat::serve
