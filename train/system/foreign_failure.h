#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace dikkat {

/// What to tell the user about an exception that ends a command. Of an Error it is its message. The messages of libraries' exceptions are
/// for programmers, so for those it is a sentence that names the command, and what the system refused or that the program has a bug.
/// `command` is what ran, such as "dikkat train".
std::string sentence_about(const std::exception& failure, std::string_view command);

}  // namespace dikkat
