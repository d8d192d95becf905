#pragma once

namespace dikkat {

/// Raises a low limit of the stack (ulimit -s), for this thread and for those that are started later. Call it before any other thread
/// starts. Throws InputError if the limit is too low and cannot be raised.
void ensure_stack();

}  // namespace dikkat
