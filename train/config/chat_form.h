#pragma once

#include <string>

#include "train/config/config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The template that conversations of a model are written in: the one that chat.template names; where that is auto, the one that came with
/// the model (chat.jinja); without it, a guess by the tokenizer's tokens. It has the model's system message. Throws InputError for a
/// template of the model that is not known: it names `where` that is from, and `how` to name another one.
ChatTemplate chat_form(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how);

}  // namespace dikkat
