#pragma once

#include <string_view>

namespace dikkat {

/// Returns a file of page/, which is compiled into the program; empty if there is no file with this name.
std::string_view embedded_file(std::string_view name);

}  // namespace dikkat
