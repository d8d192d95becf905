#pragma once

#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// Returns the width of help on standard output: output_columns(), or 100 for a file.
index help_columns();

/// Wraps a command's help: breaks each line that is wider than `columns` between words. Descriptions of options and commands stay in their
/// column. A command in the examples is not broken, so that it can be copied.
std::string wrapped_help(std::string_view help, index columns);

/// Wraps the comments of TOML at `columns`. Each new line is a comment too.
std::string with_wrapped_comments(std::string_view toml, index columns);

}  // namespace dikkat
