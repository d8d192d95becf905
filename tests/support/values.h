#pragma once

#include <cstdint>
#include <vector>

#include "autograd/tape/tensor.h"

namespace dikkat::testing {

/// Returns a copy of a tensor's numbers.
template <class T>
std::vector<T> values_of(Tensor x) {
  return {x.data<T>(), x.data<T>() + x.size()};
}

/// Returns the numbers of a tensor of any element type, as f64.
inline std::vector<double> doubles_of(Tensor x) {
  return for_element(x.dtype(), "test", [&](auto zero) {
    std::vector<double> values;
    for (const auto value : values_of<decltype(zero)>(x)) {
      values.push_back(static_cast<double>(to_computed(value)));
    }
    return values;
  });
}

}  // namespace dikkat::testing
