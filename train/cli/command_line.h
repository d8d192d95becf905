#pragma once

namespace dikkat {

/// Does what the arguments of main() say, and gives the exit code. Throws InputError for arguments that are unknown, missing or out of
/// range, and what the command throws.
int run_command_line(int argc, char** argv);

}  // namespace dikkat
