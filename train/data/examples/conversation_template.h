#pragma once

#include <string>

#include "train/chat/chat_template.h"
#include "train/config/chat_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the template for conversations with a model: the one that chat.template names. If that is auto, it is the model's own
/// (chat.jinja), or else a guess by the tokenizer's tokens. Throws InputError if the model's own template cannot be read. The message has
/// `where` it is from, and `how` to choose another one.
ChatTemplate conversation_template(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how);

}  // namespace dikkat
