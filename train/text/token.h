#pragma once

#include <cstdint>

namespace dikkat {

/// A token's id, 0 to vocab_size - 1.
using Token = std::int32_t;

}  // namespace dikkat
