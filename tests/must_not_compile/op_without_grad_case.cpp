// expect error: (incomplete type|undefined template).*GradCase
#include "tests/gradcheck/registry.h"

// What the registry would hold if an enumerator were added before Op::count: one more than there are cases.
const auto kOneMore = dikkat::gradcheck::cases_of(std::make_index_sequence<static_cast<std::size_t>(dikkat::Op::count) + 1>{});
