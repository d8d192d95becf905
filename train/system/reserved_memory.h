#pragma once

#include <cstddef>

// Memory for destructors that run because there is no memory left. The destructor of nlohmann::json moves its parts to a list, and a
// destructor that fails ends the program.
namespace dikkat {

/// Reserves memory for the destructors that an exception runs. A server calls it once, at its start. Memory that is not written to takes
/// only address space. Does nothing if none is left.
void reserve_memory_for_unwinding(std::size_t bytes) noexcept;

/// Returns some of the reserved memory if this thread handles an exception; otherwise, and if there is not enough, nullptr.
void* reserved_memory(std::size_t bytes) noexcept;

/// Frees memory if it is part of the reserved memory. Returns whether it is.
bool free_reserved_memory(const void* memory) noexcept;

}  // namespace dikkat
