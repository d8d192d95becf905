#pragma once

#include <cstddef>
#include <string>

namespace dikkat {

/// Parses a number of bytes, with or without a unit: 512MB, "1.5 GB", 64KiB, 1000000. KB, MB, GB and TB are powers of 1000, as the program
/// prints them; KiB, MiB, GiB and TiB are powers of 1024. Upper and lower case are equal. Throws InputError, which names `option`.
std::size_t parse_bytes(const std::string& text, const std::string& option);

}  // namespace dikkat
