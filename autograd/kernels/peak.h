#pragma once

#include "autograd/base/index.h"

// The most that cores can compute: loops that stay in registers. Benchmarks time them, and report rates as shares of theirs.
namespace dikkat::kernels {

/// Runs independent chains of f32 multiply-adds on every thread, `rounds` times all chains. Returns the number of operations; a
/// multiply-add counts as two.
double run_multiply_adds(index rounds);

/// Does the same with the instruction by which products of bf16 are computed: AMX's, vdpbf16ps, bfmmla, or that of f32 where bf16 are
/// widened.
double run_bf16_multiply_adds(index rounds);

}  // namespace dikkat::kernels
