#pragma once

#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// How wide help on standard output may be: output_columns(), or 100 if it goes to a file.
index help_columns();

/// A command's help, with each line that is wider than `columns` broken between words. What is below a column of names (options, commands)
/// stays in its column. A line of the examples that is a command is left whole, so that it can be copied.
std::string wrapped_help(std::string_view help, index columns);

/// TOML whose comments are broken between words in the same way. A comment that is broken goes on in a comment.
std::string with_wrapped_comments(std::string_view toml, index columns);

}  // namespace dikkat
