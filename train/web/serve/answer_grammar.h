#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "train/chat/answer_form.h"
#include "train/grammar/grammar.h"
#include "train/web/serve/api_request.h"

namespace dikkat {

/// What the texts of an answer must be.
struct AnswerRules {
  const ToolRequest& tools;
  std::optional<Grammar> content{};     // the texts of the content, if the request restricts them
  bool begins_in_reasoning = false;     // the prompt ends with the mark that begins reasoning
  std::optional<bool> reasons{};        // whether the request switches reasoning on or off
  std::function<void()> on_progress{};  // called often; what it throws ends the work
};

/// Returns the texts that an answer may have; nullopt if it may have any. Calls are written as the template writes them, with arguments
/// under the tool's schema. Reasoning, which comes first where the form has it and the request does not switch it off, may be any text.
/// Where the model decides whether it calls a tool, the mark that begins a call is always followed by a call. Throws ApiError for a schema
/// that cannot be used.
std::optional<Grammar> answer_grammar(const AnswerForm& form, const AnswerRules& rules);

}  // namespace dikkat
