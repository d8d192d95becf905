// expect error: (incomplete type|undefined template).*GradCase
#include "tests/gradcheck/registry.h"

// This is the registry with an enumerator added before Op::count: one more than there are cases.
const auto kOneMore = dikkat::gradcheck::cases_of(std::make_index_sequence<static_cast<std::size_t>(dikkat::Op::count) + 1>{});
