#pragma once

#include <string>

namespace dikkat {

/// Creates a file without a name in `folder`. It disappears when it is closed, even if the program is killed. Returns its descriptor, or -1
/// with errno.
int open_nameless_file(const std::string& folder);

}  // namespace dikkat
