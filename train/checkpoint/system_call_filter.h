#pragma once

namespace dikkat {

/// From now on this process can compute, manage its memory, read and write descriptors that it has, signal itself, and end. All other
/// system calls fail with EPERM, for good. False where the kernel has no such filters (seccomp) or refuses this one.
[[nodiscard]] bool keep_computing_calls_only();

}  // namespace dikkat
