#pragma once

#include <string_view>

namespace dikkat {

/// The text of a file in page/, which was compiled in; empty if there is none of this name.
std::string_view embedded_file(std::string_view name);

}  // namespace dikkat
