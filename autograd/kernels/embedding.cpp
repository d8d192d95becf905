#include "autograd/kernels/embedding.h"

#include <algorithm>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/packed.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kRows = 64;
constexpr index kColumns = 128;

/// Sorts by counting. order (n): the positions 0 to n - 1 sorted by token, stable; starts (vocabulary + 1): where each token's positions
/// begin.
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

/// Computes columns `begin` to `end` of the token's row of dtable from its positions.
template <class T>
void add_rows(const EmbeddingBackward<T>& p, const index* positions, index count, index token, index begin, index end) {
  if (p.dtable.add && count == 0) {
    return;
  }
  T* out = p.dtable.data + token * p.cols;
  simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
    Vec<T> total = p.dtable.add ? simd::load(out + at, lanes) : Vec<T>{};
    for (index i = 0; i < count; ++i) {
      total += p.scale * simd::load(p.dy + positions[i] * p.cols + at, lanes);
    }
    simd::store(out + at, total, lanes);
  });
}

}  // namespace

template <class T>
void embedding_forward(const EmbeddingForward<T>& p) {
  parallel_blocks(p.batch * p.time, kRows, Work::elements(p.batch * p.time * p.cols), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const T* row = p.packed_table != nullptr ? p.y + i * p.cols : p.table + p.tokens[i] * p.cols;
      if constexpr (std::is_same_v<T, float>) {
        if (p.packed_table != nullptr) {
          unpack_row(*p.packed_table, p.tokens[i], p.y + i * p.cols);
        }
      }
      const index at_position = (p.first == nullptr ? 0 : p.first[i / p.time]) + i % p.time;
      const T* position = p.positions == nullptr ? nullptr : p.positions + at_position * p.cols;
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
  // For the table's gradient, positions are sorted by token, and one thread adds all the rows of a token.
  if (p.dtable) {
    const Scratch<index> order(n + p.vocabulary + 1);
    index* starts = order + n;
    sort_by_token(n, p.vocabulary, p.tokens, order, starts);
    // A token's row takes as long as its positions and one more, in each block of columns. Threads get equal shares of that.
    const index in_block = n + p.vocabulary;
    const auto before = [&](index token) { return starts[token] + token; };
    const auto work = Work::elements(in_block * p.cols);
    parallel_ranges(
        ceil_div(p.cols, kColumns) * in_block, work, [] {},
        [&](index from, index to) {
          for (index block = from / in_block; block * in_block < to; ++block) {
            const index begin = block * kColumns, end = std::min(begin + kColumns, p.cols);
            const auto first_from = [&](index share) {  // the first token whose share begins there or later
              const index in_own = share - block * in_block;
              index low = 0, high = p.vocabulary;
              while (low < high) {
                const index middle = (low + high) / 2;
                if (before(middle) < in_own) {
                  low = middle + 1;
                } else {
                  high = middle;
                }
              }
              return low;
            };
            for (index token = first_from(from), last = first_from(to); token < last; ++token) {
              add_rows(p, order + starts[token], starts[token + 1] - starts[token], token, begin, end);
            }
          }
        });
  }
  // Each row of the positions' gradient is summed over the batch.
  if (p.dpositions) {
    parallel_blocks(p.positions, kRows, Work::elements((n + p.positions) * p.cols), [&](index begin, index end) {
      for (index position = begin; position < end; ++position) {
        T* out = p.dpositions.data + position * p.cols;
        simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
          Vec<T> total = p.dpositions.add ? simd::load(out + at, lanes) : Vec<T>{};
          for (index b = 0; b < p.batch; ++b) {
            const index t = position - (p.first == nullptr ? 0 : p.first[b]);
            if (0 <= t && t < p.time) {
              total += simd::load(p.dy + (b * p.time + t) * p.cols + at, lanes);
            }
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
