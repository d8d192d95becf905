#pragma once

namespace dikkat {

/// For a library that holds kernels for several instruction sets (cmake/kernel_sets.cmake). Returns the number of the last of `sets` that
/// this processor has, or of the one that the environment variable DIKKAT_ISA names. Ends the process with a message if that set does not
/// exist or the processor lacks it. Runs on any x86-64 or arm64 processor, before static variables are initialised.
int choose_instruction_set(const char* const* sets, int count) noexcept;

/// Whether kernels multiply bf16 by AMX: if "amx" was chosen, or, in a library for one instruction set, if this processor has AMX, the
/// system grants its tile registers, which is asked once, and DIKKAT_ISA is "amx" or not set. Ends the process with a message if DIKKAT_ISA
/// is "amx" and they cannot be had.
bool uses_amx() noexcept;

}  // namespace dikkat
