#pragma once

namespace dikkat::kernels {

/// The instruction set of the kernels that run here: "AVX2", "AVX-512", "AVX-512 with bf16", or "baseline" if compilers translate the
/// vectors for some other processor.
const char* instruction_set() noexcept;

/// Whether kernels multiply bf16 by an instruction of the processor.
bool has_bf16_products() noexcept;

}  // namespace dikkat::kernels
