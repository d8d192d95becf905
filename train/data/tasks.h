#pragma once

#include <functional>

#include "autograd/base/index.h"

namespace dikkat {

/// Calls task(i) for i = 0 to count - 1 on TBB's threads, in any order. When tasks throw, all others still run and the exception
/// of the first, by i, is thrown: what a person reads does not depend on the threads.
void run_tasks(index count, const std::function<void(index)>& task);

}  // namespace dikkat
