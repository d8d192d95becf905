#pragma once

namespace dikkat {

/// For a library that holds kernels for several instruction sets (cmake/kernel_sets.cmake). Returns the number of the last of `sets` that
/// this processor has, or of the one that the environment variable DIKKAT_ISA names. Ends the process with a message if that set does not
/// exist or the processor lacks it. Runs on any x86-64, before static variables are initialised.
int choose_instruction_set(const char* const* sets, int count) noexcept;

}  // namespace dikkat
