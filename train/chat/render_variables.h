#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/chat_template.h"

namespace dikkat {

/// Renders a template with variables as transformers' apply_chat_template() would, without checking the messages. `variables` is an object
/// with "messages" and, if wanted, "tools", "add_generation_prompt", "bos_token", "eos_token", "date" and any other variable. A content of
/// text parts is read as in training, chat and serve (content_parts.h): a template that does not handle lists gets one string. Missing
/// special tokens are the tokenizer's, and a missing date is `date`. Throws InputError for variables of another form, and TemplateError if
/// the template cannot be read or rendered.
ChatText render_variables(const std::string& source, const nlohmann::ordered_json& variables, const Tokenizer& tokenizer,
                          const std::string& date);

}  // namespace dikkat
