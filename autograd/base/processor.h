#pragma once

#include <cstddef>

namespace dikkat {

/// Whether this processor lacks an instruction set that the library was compiled for, which would end the process with SIGILL. Then `text`,
/// of `size` characters, says so. Needs no instruction set itself, and no memory: main programs ask before their static variables are
/// initialised.
bool processor_lacks(char* text, std::size_t size) noexcept;

/// Throws Error where it does. Pages, which all tensors' memory comes from, asks this: library users need not.
void require_processor();

}  // namespace dikkat
