#pragma once

#include <span>

#include "train/web/serve/answer_reader.h"
#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// Returns the conversation of a request, with the tools and variables for the template. Throws ApiError if the template does not use them.
Conversation conversation_of(const ServedModel& model, const ApiRequest& request);

/// Returns the special tokens that are marks in an answer, which samples may draw: those of reasoning and, with `calls`, those of calls.
std::vector<Token> marks_of(const ServedModel& model, bool calls = true);

/// Returns the text of a prompt's last tokens, enough to find a mark at its end.
std::string end_of_prompt(const ServedModel& model, std::span<const Token> prompt);

/// Returns the reader of an answer to these tokens; nullopt if answers are only content.
std::optional<AnswerReader> reader_of(const ServedModel& model, const ApiRequest& request, std::span<const Token> prompt);

}  // namespace dikkat::serve
