#pragma once

#include "autograd/base/parallel.h"

namespace dikkat {

/// to += from, n numbers each.
template <class T>
void add(index n, const T* __restrict from, T* __restrict to) {
  constexpr index kBlock = 1 << 14;
  parallel_blocks(n, kBlock, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      to[i] += from[i];
    }
  });
}

}  // namespace dikkat
