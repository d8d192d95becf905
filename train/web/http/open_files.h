#pragma once

#include <cstddef>

namespace dikkat {

/// Raises the number of files and sockets that this process may have open to at least `wanted`, or as far as the system permits. Returns
/// the new limit.
std::size_t permit_open_files(std::size_t wanted);

}  // namespace dikkat
