#pragma once

#include <string>

#include "train/config/config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the template for conversations with a model: the one that chat.template names. If that is auto, it is the one that came with the
/// model (chat.jinja), or else a guess by the tokenizer's tokens. The template has chat.system as its system message. Throws InputError if
/// the model's own template is not known; the message says `where` it is from, and `how` to choose another one.
ChatTemplate chat_form(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how);

}  // namespace dikkat
