#pragma once

#include <cstddef>

namespace dikkat {

/// Whether this processor lacks an instruction set that the library was compiled for, so that the process would end with SIGILL. If so,
/// writes a sentence about it to `text`, which has room for `size` characters. Runs on any x86-64 and takes no memory: a program calls it
/// before its static variables are initialised (train/cli/check_processor.cpp).
bool processor_lacks(char* text, std::size_t size) noexcept;

/// Throws Error if it does. Pages, which the memory of all tensors comes from, calls this, so library users need not.
void require_processor();

}  // namespace dikkat
