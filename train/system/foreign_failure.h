#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace dikkat {

/// Returns the message for the user about an exception that ends a command. For an Error it is the error's message. Messages of other
/// libraries are for programmers; for those it names the command and what the system refused, or asks to report a bug. `command` is the
/// command that ran, such as "dikkat train".
std::string sentence_about(const std::exception& failure, std::string_view command);

}  // namespace dikkat
