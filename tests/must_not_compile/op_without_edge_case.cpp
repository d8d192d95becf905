// expect error: (incomplete type|undefined template).*EdgeCase
#include "tests/gradcheck/registry.h"

// An op with a gradient check, for which nobody has said what happens at its edges.
template <>
struct dikkat::gradcheck::GradCase<dikkat::Op::count> : dikkat::gradcheck::GradCase<dikkat::Op::abs> {};
const auto kOneMore = dikkat::gradcheck::case_of<dikkat::Op::count>();
