#pragma once

#include "autograd/base/index.h"

// The limits of this machine, measured now on as many threads as kernels use. Benchmarks report their figures as shares of these.
namespace dikkat::bench {

/// GFLOP/s of fused multiply-adds of f32 in registers, two operations each: the best of several short runs.
double peak_flops();

/// GB/s of copying memory that no cache holds, bytes read plus bytes written: the best of several runs. Takes 1 GB for its time.
double copy_bandwidth();

/// Reads `count` numbers once, on as many threads as kernels use, and does nothing with them: what the memory allows anything that reads
/// as much. Other machines' work comes and goes, so it is to be timed in turn with what is held against it.
void read_all(const float* values, index count);

}  // namespace dikkat::bench
