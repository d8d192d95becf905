#pragma once

#include <sched.h>

namespace dikkat {

/// Adds the cores on which the runtime of the kernels' threads places them: all places of OMP_PLACES, if it binds threads.
void add_thread_places(cpu_set_t& cores) noexcept;

}  // namespace dikkat
