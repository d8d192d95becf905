#pragma once

#include <string>

namespace dikkat {

/// Whether only this machine can reach the address.
bool is_loopback(const std::string& host);

}  // namespace dikkat
