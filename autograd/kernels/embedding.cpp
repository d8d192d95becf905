#include "autograd/kernels/embedding.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kRows = 64;

/// Counting sort. order (n): the positions 0 to n - 1 sorted by token, stable; starts (vocabulary + 1): where each token's positions begin.
void sort_by_token(index n, index vocabulary, const std::int32_t* tokens, index* order, index* starts) {
  std::fill(starts, starts + vocabulary + 1, index{0});
  for (index i = 0; i < n; ++i) {
    ++starts[tokens[i] + 1];
  }
  for (index v = 0; v < vocabulary; ++v) {
    starts[v + 1] += starts[v];
  }
  for (index i = 0; i < n; ++i) {
    order[starts[tokens[i]]++] = i;
  }
  for (index v = vocabulary; v > 0; --v) {  // each start has moved to that of the next token: shift them back
    starts[v] = starts[v - 1];
  }
  starts[0] = 0;
}

}  // namespace

template <class T>
void embedding_forward(const EmbeddingForward<T>& p) {
  parallel_blocks(p.batch * p.time, kRows, Work::elements(p.batch * p.time * p.cols), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const T* row = p.table + p.tokens[i] * p.cols;
      const T* position = p.positions == nullptr ? nullptr : p.positions + (p.first_position + i % p.time) * p.cols;
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        const Vec<T> v = p.scale * simd::load(row + at, lanes);
        simd::store(p.y + i * p.cols + at, position == nullptr ? v : v + simd::load(position + at, lanes), lanes);
      });
    }
  });
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& p) {
  const index n = p.batch * p.time;
  if (p.dtable) {
    const Scratch<index> order(n + p.vocabulary + 1);
    index* starts = order + n;
    sort_by_token(n, p.vocabulary, p.tokens, order, starts);
    parallel_blocks(p.vocabulary, kRows, Work::elements((n + p.vocabulary) * p.cols), [&](index begin, index end) {
      for (index token = begin; token < end; ++token) {
        if (p.dtable.add && starts[token] == starts[token + 1]) {
          continue;
        }
        T* out = p.dtable.data + token * p.cols;
        simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
          Vec<T> total = p.dtable.add ? simd::load(out + at, lanes) : Vec<T>{};
          for (index i = starts[token]; i < starts[token + 1]; ++i) {
            total += p.scale * simd::load(p.dy + order[i] * p.cols + at, lanes);
          }
          simd::store(out + at, total, lanes);
        });
      }
    });
  }
  if (p.dpositions) {
    parallel_blocks(p.positions, kRows, Work::elements((n + p.positions) * p.cols), [&](index begin, index end) {
      for (index position = begin; position < end; ++position) {
        const index t = position - p.first_position;
        T* out = p.dpositions.data + position * p.cols;
        simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
          Vec<T> total = p.dpositions.add ? simd::load(out + at, lanes) : Vec<T>{};
          for (index b = 0; t >= 0 && t < p.time && b < p.batch; ++b) {
            total += simd::load(p.dy + (b * p.time + t) * p.cols + at, lanes);
          }
          simd::store(out + at, total, lanes);
        });
      }
    });
  }
}

template void embedding_forward<float>(const EmbeddingForward<float>&);
template void embedding_forward<double>(const EmbeddingForward<double>&);
template void embedding_backward<float>(const EmbeddingBackward<float>&);
template void embedding_backward<double>(const EmbeddingBackward<double>&);

}  // namespace dikkat::kernels
