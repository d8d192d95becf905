#pragma once

namespace dikkat::kernels {

/// Returns the instruction set of the kernels that run here: "AVX2", "AVX-512", "AVX-512 with bf16", "AMX" (the same, but for products of
/// bf16), "SSE4.2" (also for processors with AVX only), "AVX with FMA" (a native build for one without AVX2), "NEON", "NEON with dot
/// products", "NEON with bf16", or "baseline" if compilers translate the vectors for some other processor.
const char* instruction_set() noexcept;

/// Returns whether kernels multiply and add with one rounding. Those that round twice have bits of their own.
bool fuses_multiply_adds() noexcept;

/// Returns whether kernels multiply bf16 by an instruction of the processor.
bool has_bf16_products() noexcept;

/// Returns whether they do so by AMX (gemm_amx.h), whose sums have another order than those of vectors.
bool has_amx_products() noexcept;

/// Returns whether they multiply bf16 as f32, in the order of vdpbf16ps and with its bits: they lack the instruction, or it is slow here.
bool widens_bf16_products() noexcept;

/// Returns whether they multiply bf16 by arm64's bfmmla, which rounds to odd (tests/kernels/reference/gemm.h).
bool has_bfmmla_products() noexcept;

}  // namespace dikkat::kernels
