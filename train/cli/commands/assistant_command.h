#pragma once

#include "train/cli/commands/resume_command.h"

namespace dikkat {

/// Continues an assistant (train/assistant/plan.h) to its end, or until a signal. Returns the exit code. Throws InputError for options
/// that would change its plan.
int resume_assistant(const ResumeArguments& arguments);

}  // namespace dikkat
