#pragma once

#include "autograd/base/parallel.h"

namespace dikkat {

/// Computes to += from, n numbers each, on the calling thread.
template <class T>
void add_here(index n, const T* __restrict from, T* __restrict to) {
  for (index i = 0; i < n; ++i) {
    to[i] += from[i];
  }
}

/// Computes to += from, n numbers each, on all threads.
template <class T>
void add(index n, const T* __restrict from, T* __restrict to) {
  constexpr index kBlock = 1 << 14;
  parallel_blocks(n, kBlock, [&](index begin, index end) { add_here(end - begin, from + begin, to + begin); });
}

}  // namespace dikkat
