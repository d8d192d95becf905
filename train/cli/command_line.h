#pragma once

#include <string>

namespace dikkat {

/// Runs the command that the arguments of main() name, and returns the exit code. Throws InputError for arguments that are unknown, missing
/// or out of range, and what the command throws.
int run_command_line(int argc, char** argv);

/// Returns the running command, such as "dikkat tokenizer train"; "dikkat" until run_command_line() has parsed it.
const std::string& running_command();

}  // namespace dikkat
