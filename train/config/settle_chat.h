#pragma once

#include <string>

#include "train/config/config.h"

namespace dikkat {

/// Replaces a file's name in chat.template by "own", and the text of chat.jinja by the file's. Throws InputError, which calls the value
/// `name`, if there is no such file.
void read_template_file(ChatConfig& chat, const char* name = "chat.template");

/// Sets chat.date to today if the template of the model's own asks for the date, so that a resumed run has the same bits on another day.
void settle_date(ChatConfig& chat);

/// Returns today's date in local time, as chat.date has it: "2026-03-09".
std::string today();

}  // namespace dikkat
