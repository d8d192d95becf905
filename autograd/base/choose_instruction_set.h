#pragma once

namespace dikkat {

/// Chooses among the kernels of a library for several instruction sets (cmake/kernel_sets.cmake). Returns the index of the last of `sets`
/// that this processor has, or of the one that the environment variable DIKKAT_ISA names. Ends the process with a message if that set does
/// not exist or the processor lacks it. Runs on any x86-64 or arm64 processor, before static variables are initialized.
int choose_instruction_set(const char* const* sets, int count) noexcept;

/// Returns whether kernels multiply bf16 by AMX. They do if "amx" was chosen. In a library for one instruction set, they do if this
/// processor has AMX, the system grants its tile registers, and DIKKAT_ISA is "amx" or not set. The system is asked once. Ends the process
/// with a message if DIKKAT_ISA is "amx" and AMX is not available.
bool uses_amx() noexcept;

/// Returns whether this processor's vdpbf16ps has the rate of its f32 multiply-adds, and so twice their operations. That was measured on
/// AMD's (Zen 4 and 5). On Intel's it has half that rate.
bool has_fast_vdpbf16ps() noexcept;

/// Returns whether bf16 are multiplied as f32 although the kernels have vdpbf16ps: if DIKKAT_BF16 is "widen", or if it is not "dot" and the
/// instruction is slow. The bits are the same.
bool widens_bf16() noexcept;
/// Sets what widens_bf16() returns, for tests.
void set_widens_bf16(bool is_wide) noexcept;

}  // namespace dikkat
