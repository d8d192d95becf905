#pragma once

#include "autograd/base/index.h"

// The limits of this machine, measured with as many threads as kernels use. Benchmarks report their figures as shares of these.
namespace dikkat::bench {

/// The FMA peak: GFLOP/s of f32 multiply-adds in registers, which count as two; the best of several short runs.
double peak_flops();
/// The peak of products of bf16 with f32 sums, by the processor's instruction, or as this build emulates it.
double bf16_peak_flops();

/// The copy bandwidth: GB/s of copying memory that is in no cache, bytes read plus bytes written; the best of several runs. Needs 1 GB.
double copy_bandwidth();

/// Reads `count` numbers once, on as many threads as kernels use, as fast as anything can. The bandwidth of a shared machine varies, so
/// time this in turn with the code that you compare it with.
void read_all(const float* values, index count);

}  // namespace dikkat::bench
