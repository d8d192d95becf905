#pragma once

#include "train/machine/limits.h"

// The limits of this machine in the units that benchmarks print.
namespace dikkat::bench {

/// GFLOP/s of multiply-adds of f32.
inline double peak_flops() { return 1e-9 * dikkat::peak_flops(DType::f32); }
/// GFLOP/s of multiply-adds of bf16 with f32 sums.
inline double bf16_peak_flops() { return 1e-9 * dikkat::peak_flops(DType::bf16); }
/// GB/s of copying memory, bytes read plus bytes written.
inline double copy_bandwidth() { return 1e-9 * dikkat::copy_bandwidth(); }

}  // namespace dikkat::bench
