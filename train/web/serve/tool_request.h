#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dikkat::serve {

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
  std::vector<Tool> tools{};  // the tools that may be called; none if the choice is `none`
  std::string text{};         // all of them as the client sent them, for the template
  bool several = true;        // an answer may call more than one
};

/// How an answer reasons, and where its reasoning goes.
struct ReasoningRequest {
  std::optional<bool> is_on{};    // enable_thinking
  std::string effort{};           // reasoning_effort; empty if it is missing
  std::string variables{};        // chat_template_kwargs: variables of the template, as a JSON object; empty if there are none
  bool stays_in_content = false;  // whether marks and reasoning stay in the content
  bool is_hidden = false;         // whether it is not sent
};

}  // namespace dikkat::serve
