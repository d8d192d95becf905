#pragma once

#include <cstddef>

#include "autograd/base/index.h"

namespace dikkat {

/// Memory of this thread for the time of one kernel call or tile, 64-byte aligned, not initialised, kept for the next call.
/// Slots are apart from each other; the same slot asked for again is the same memory. Throws Error when the system has none.
enum class Scratch : int { a, b, c, d, e, f, g, h, gemm_packed, gemm_work, count };
void* scratch(Scratch slot, std::size_t bytes);

template <class T>
T* scratch(Scratch slot, index count) {
  return static_cast<T*>(scratch(slot, static_cast<std::size_t>(count) * sizeof(T)));
}

}  // namespace dikkat
