#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "train/chat/answer_format.h"
#include "train/grammar/grammar.h"
#include "train/web/serve/api_request.h"

namespace dikkat::serve {

/// The rules for the texts of an answer.
struct AnswerRules {
  const ToolRequest& tools;
  std::optional<Grammar> content{};     // the texts of the content, if the request restricts them
  bool begins_in_reasoning = false;     // the prompt ends with the mark that begins reasoning
  std::optional<bool> reasons{};        // whether the request switches reasoning on or off
  std::function<void()> on_progress{};  // called often; an exception of it ends the work
};

/// Returns the texts that an answer may have; nullopt if it may have any. Calls are written as the template writes them, with arguments
/// under the tool's schema. Reasoning may be any text; it comes first if the form has it and the request does not switch it off. If the
/// model decides whether it calls a tool, a call always follows the mark that begins it. Throws ApiError for a schema that cannot be used.
std::optional<Grammar> answer_grammar(const AnswerFormat& form, const AnswerRules& rules);

}  // namespace dikkat::serve
