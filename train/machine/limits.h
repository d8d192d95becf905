#pragma once

#include "autograd/base/dtype.h"
#include "autograd/base/index.h"
#include "autograd/base/pages.h"

// The limits of this machine, measured now with as many threads as kernels use. Benchmarks report their figures as shares of these.
namespace dikkat {

/// Returns the FLOP/s of multiply-adds of f32, or of bf16 with f32 sums, in registers; the best of several short runs, in about 0.2 s.
/// Products of bf16 use the processor's instruction, or this build's replacement of it.
double peak_flops(DType operands = DType::f32);

/// Returns the bytes per second, read and written together, of copying memory that is in no cache; the best of several runs. Needs 1 GB.
double copy_bandwidth();

/// The order in which a thread reads its share of memory.
struct ReadingOrder {
  index streams = 1;  // parts of the share that it reads in turn
  index ahead = 0;    // numbers after the one that it reads, which it fetches into the second cache; 0: it leaves that to the processor
};

/// Reads `count` numbers once, on as many threads as kernels use. The bandwidth of a shared machine varies, so alternate this with the code
/// that you compare it with.
void read_all(const float* values, index count, ReadingOrder order = {});

/// Returns the bytes per second of reading memory, which was written before, again and again as decoding reads its weights: with one or
/// several streams on each thread, fetched ahead by the processor or by instructions. The best run of the best order counts. Takes
/// `seconds` or longer.
double read_bandwidth(const Pages& memory, double seconds);

}  // namespace dikkat
