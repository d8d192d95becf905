#pragma once

#include <functional>

#include "autograd/base/dtype.h"

namespace dikkat {

/// FLOP/s of matrix products of f32 or bf16 on this machine now, on thread_count() threads: what MFU is measured against. It is the best of
/// several products of 1024 x 768 x 768, in short bursts with pauses, since another program may use the cores for a while. It takes about
/// 0.1 s. The number of products is bounded: if the clock stands still, the result is NaN.
double gemm_rate(DType operands);

/// The same with another clock, which returns seconds.
double gemm_rate_by(DType operands, const std::function<double()>& clock);

}  // namespace dikkat
