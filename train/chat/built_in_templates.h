#pragma once

#include <string>
#include <string_view>

#include "train/chat/chat_template.h"

namespace dikkat {

/// Returns the text of a built-in template in the Jinja language. TemplateName::plain uses the tokenizer's tokens. Throws InputError if the
/// tokenizer lacks a token that the template needs, and for names that are not built in.
std::string built_in_template(TemplateName name, const Tokenizer& tokenizer);

/// Returns the built-in template that fits a tokenizer: ChatML or Llama 3's if it has their tokens, otherwise plain.
TemplateName fitting_template(const Tokenizer& tokenizer);

}  // namespace dikkat
