#pragma once

namespace dikkat::fuzz {

// libFuzzer looks at counters of what ran in its own process. A child process has its own copy of them.

/// In the parent, before the child is made.
void forget_child_coverage();
/// In the child, at its end.
void tell_coverage();
/// In the parent, afterwards: what ran in the child counts as having run here.
void adopt_child_coverage();

}  // namespace dikkat::fuzz
