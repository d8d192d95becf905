#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/chat/template/marked_text.h"

namespace dikkat {

/// Returns a rendered text, in which special tokens are known only where the template wrote them.
ChatText chat_text(const jinja::MarkedText& text);

/// Returns the variables that name a tokenizer's special tokens: bos_token and eos_token, if it has them.
std::vector<std::pair<std::string, std::string>> special_names(const Tokenizer& tokenizer);

}  // namespace dikkat
