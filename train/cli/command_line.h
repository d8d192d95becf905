#pragma once

#include <string>

namespace dikkat {

/// Does what the arguments of main() say, and gives the exit code. Throws InputError for arguments that are unknown, missing or out of
/// range, and what the command throws.
int run_command_line(int argc, char** argv);

/// "dikkat tokenizer train", as soon as run_command_line() knows the command; "dikkat" before that.
const std::string& running_command();

}  // namespace dikkat
