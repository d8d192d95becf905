#pragma once

#include <string>

namespace dikkat {

/// Returns whether only this machine can reach this address or host name.
bool is_loopback(const std::string& host);

}  // namespace dikkat
