#pragma once

#include <cstring>
#include <type_traits>

#include "autograd/base/grad_out.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

/// to = from, or to += from: `count` adjacent elements.
template <class T>
inline void copy_run(index count, const T* from, GradOut<T> to) {
  using C = Computed<T>;
  if constexpr (!std::is_same_v<T, C>) {
    if (!to.add) {  // nothing is computed
      std::memcpy(to.data, from, static_cast<std::size_t>(count) * sizeof(T));
      return;
    }
  }
  simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
    const simd::Vec<C> value = simd::load_as<C>(from + at, lanes);
    simd::store_as<C>(to.data + at, to.add ? value + simd::load_as<C>(to.data + at, lanes) : value, lanes);
  });
}

}  // namespace dikkat::kernels
