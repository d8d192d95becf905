#pragma once

#include <string>

namespace dikkat {

/// Creates a file without a name in `folder`. It is gone when it is closed, however the program ends. Returns its descriptor, or -1 and
/// errno.
int open_nameless_file(const std::string& folder);

}  // namespace dikkat
