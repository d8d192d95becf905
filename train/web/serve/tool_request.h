#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dikkat {

/// A function that an answer may call.
struct Tool {
  std::string name{};
  std::string parameters{};  // a JSON schema of its arguments; empty: any object

  bool operator==(const Tool&) const = default;
};

/// Whether an answer calls tools.
enum class ToolChoice {
  none,       // it does not
  automatic,  // the model decides
  required,   // it does nothing else
};

/// The tools of a request.
struct ToolRequest {
  ToolChoice choice = ToolChoice::none;
  std::vector<Tool> tools{};  // those that may be called; none if the choice is `none`
  std::string text{};         // all of them as the client sent them, for the template
  bool several = true;        // an answer may call more than one
};

/// How an answer reasons, and what becomes of its reasoning.
struct ReasoningRequest {
  std::optional<bool> is_on{};    // enable_thinking
  std::string effort{};           // reasoning_effort; empty if it is not given
  std::string variables{};        // chat_template_kwargs: variables of the template, as a JSON object; empty if there are none
  bool stays_in_content = false;  // the marks and the text between them are not taken out of the content
  bool is_hidden = false;         // it is not sent
};

/// Reads the fields tools, tool_choice and parallel_tool_calls of a request. Throws ApiError.
ToolRequest read_tool_request(const nlohmann::ordered_json& request);

/// Reads the fields about reasoning, and chat_template_kwargs. Throws ApiError.
ReasoningRequest read_reasoning_request(const nlohmann::ordered_json& request);

}  // namespace dikkat
