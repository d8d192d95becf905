#pragma once

#include <string>

#include "train/chat/chat_template.h"
#include "train/config/config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the template for conversations with a model: the one that chat.template names. If that is auto, it is the one that came with the
/// model (chat.jinja), or else a guess by the tokenizer's tokens. Throws InputError if the model's own template cannot be read; the message
/// says `where` it is from, and `how` to choose another one.
ChatTemplate chat_form(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how);

/// Replaces a file's name in chat.template by "own", and the text of chat.jinja by the file's. Throws InputError, which calls the value
/// `name`, if there is no such file.
void read_template_file(ChatConfig& chat, const char* name = "chat.template");

/// Sets chat.date to today if the template of the model's own asks for the date, so that a resumed run has the same bits on another day.
void settle_date(ChatConfig& chat);

/// Returns today's date in local time, as chat.date has it: "2026-03-09".
std::string today();

}  // namespace dikkat
