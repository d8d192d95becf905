#pragma once

#include <string>

#include "train/cli/description.h"

namespace dikkat {

/// Returns a script with which bash, zsh or fish completes commands and options. Other words are completed as files. Throws InputError for
/// another shell.
std::string completions_for(const std::string& shell, const CommandDescription& program);

}  // namespace dikkat
