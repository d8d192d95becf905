// expect error: (incomplete type|undefined template).*GradCase
#include "tests/gradcheck/registry.h"

// What the registry would hold if an enumerator were added before Op::count: one more than there are cases.
using OneMore = decltype(dikkat::gradcheck::check_all(std::make_index_sequence<static_cast<std::size_t>(dikkat::Op::count) + 1>{}));

template <class... Checked>
constexpr std::size_t sizes(::testing::Types<Checked...>) {
  return (sizeof(Checked) + ...);
}
static_assert(sizes(OneMore{}) > 0);
