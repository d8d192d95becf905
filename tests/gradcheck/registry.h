#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tests/gradcheck/cases/attention.h"
#include "tests/gradcheck/cases/convolution.h"
#include "tests/gradcheck/cases/elementwise.h"
#include "tests/gradcheck/cases/indexing.h"
#include "tests/gradcheck/cases/losses.h"
#include "tests/gradcheck/cases/products.h"
#include "tests/gradcheck/cases/recurrent.h"
#include "tests/gradcheck/cases/reductions.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/cases/shapes.h"
#include "tests/gradcheck/edges/convolution.h"
#include "tests/gradcheck/edges/elementwise.h"
#include "tests/gradcheck/edges/indexing.h"
#include "tests/gradcheck/edges/losses.h"
#include "tests/gradcheck/edges/products.h"
#include "tests/gradcheck/edges/reductions.h"
#include "tests/gradcheck/edges/rows.h"
#include "tests/gradcheck/edges/shapes.h"

namespace dikkat::gradcheck {

/// The case of one op. It is a value, so that the driver is compiled once and not for every op.
struct Case {
  Op op;
  std::vector<Sample> (*samples)();
  std::vector<Sample> (*ragged)();
  std::vector<Misfit> (*misfits)();
  std::span<const Extent> extents;
  Sample (*at)(Extents);
  bool has_rows;
  std::vector<Point> (*points)();
};

template <Op op>
constexpr Case case_of() {
  static_assert(sizeof(GradCase<op>) > 0, "an op without a gradient check");
  using Edges = EdgeCase<op>;
  return {op,        GradCase<op>::samples, GradCase<op>::ragged, GradCase<op>::misfits, Edges::kExtents,
          Edges::at, Edges::kHasRows,       Edges::points};
}

template <std::size_t... i>
std::vector<Case> cases_of(std::index_sequence<i...>) {
  return {case_of<static_cast<Op>(i)>()...};
}
/// The cases of all enumerators of Op: one that is added there is checked here.
inline std::vector<Case> all_cases() { return cases_of(std::make_index_sequence<static_cast<std::size_t>(Op::count)>{}); }

}  // namespace dikkat::gradcheck
