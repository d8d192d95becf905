#pragma once

#include <functional>

namespace dikkat {

/// Floating-point operations a second that matrix products of f32 reach on this machine now, on thread_count() threads: the best of
/// several of 1024 x 768 x 768, in short bursts some time apart, since another program may have the cores for a while. Some 0.1 s in all,
/// and never more than a fixed number of products, should the clock stand still; then there is no rate, and the result is NaN. What a
/// step's share of the machine is measured against.
double gemm_rate();

/// The same by a clock that gives seconds.
double gemm_rate_by(const std::function<double()>& clock);

}  // namespace dikkat
