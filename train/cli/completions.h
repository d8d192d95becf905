#pragma once

#include <string>

#include "train/cli/description.h"

namespace dikkat {

/// A script that lets a shell complete commands and options: bash, zsh or fish. Other words are files. Throws InputError for another shell.
std::string completions_for(const std::string& shell, const CommandDescription& program);

}  // namespace dikkat
