#pragma once

#include <cstddef>

namespace dikkat {

/// Returns whether this processor lacks an instruction set that the library was compiled for, so that the process would end with SIGILL. If
/// so, writes a message to `text`, which has room for `size` characters. It runs on any x86-64 or arm64 processor and allocates nothing, so
/// a program can call it before its static variables are initialized (train/cli/check_processor.cpp).
bool processor_lacks(char* text, std::size_t size) noexcept;

/// Throws Error if an instruction set is missing. Pages, which provides the memory of all tensors, calls this, so library users need not.
void require_processor();

}  // namespace dikkat
