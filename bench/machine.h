#pragma once

// What this machine can do at most, measured now, on as many threads as kernels use: what a benchmark's figures are to be held against.
namespace dikkat::bench {

/// GFLOP/s of fused multiply-adds of f32 in registers, two operations each: the best of several short runs.
double peak_flops();

/// GB/s of copying memory that no cache holds, bytes read plus bytes written: the best of several runs. Takes 1 GB for its time.
double copy_bandwidth();

/// GB/s of reading memory that no cache holds: the best of several runs. Takes 512 MB for its time.
double read_bandwidth();

}  // namespace dikkat::bench
