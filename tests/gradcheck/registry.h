#pragma once

#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/gradcheck/cases/attention.h"
#include "tests/gradcheck/cases/elementwise.h"
#include "tests/gradcheck/cases/products.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/cases/shapes.h"

namespace dikkat::gradcheck {

/// The case of one op, as a type.
template <Op kOp>
struct Checked {
  static constexpr Op op = kOp;
  using Case = GradCase<kOp>;
  static_assert(sizeof(Case) > 0, "an op without a gradient check");
};

template <std::size_t... i>
::testing::Types<Checked<static_cast<Op>(i)>...> check_all(std::index_sequence<i...>);
/// All enumerators of Op: one that is added there is checked here.
using AllOps = decltype(check_all(std::make_index_sequence<static_cast<std::size_t>(Op::count)>{}));

}  // namespace dikkat::gradcheck
