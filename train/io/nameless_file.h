#pragma once

#include <string>

namespace dikkat {

/// A new file in `folder` that has no name and is gone when it is closed, whatever ends the program: its descriptor, or -1 and errno.
int open_nameless_file(const std::string& folder);

}  // namespace dikkat
