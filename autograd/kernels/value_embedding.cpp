#include "autograd/kernels/value_embedding.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kMixedRows = 8;         // rows of a tile, forward
constexpr index kMixedSummedRows = 16;  // rows of a tile, backward: each tile has its own sums

template <class C, class Lanes>
void put_row(C* to, bool add, Vec<C> value, Lanes lanes) {
  simd::store(to, add ? simd::load(to, lanes) + value : value, lanes);
}

/// Returns <w_h, x[:channels]> of one row of x, in all lanes.
template <class C, class T>
Vec<C> gate_logit(const ValueEmbedding<T>& p, const T* x, index head) {
  Vec<C> products{};
  simd::for_vectors<C>(0, p.channels, [&](index c, auto lanes) {
    products += simd::load_as<C>(x + c, lanes) * simd::load(p.gate + head * p.channels + c, lanes);
  });
  return simd::broadcast(simd::sum<C>(products));
}

}  // namespace

template <class T>
void value_embedding_forward(const ValueEmbedding<T>& p) {
  using C = Computed<T>;
  const index values = p.heads * p.size;
  const index cols = p.before + values;
  parallel_blocks(p.rows, kMixedRows, Work::elements(p.rows * (cols + values)), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* from = p.qkv + row * cols;
      T* to = p.y + row * cols;
      std::copy(from, from + p.before, to);
      for (index h = 0; h < p.heads; ++h) {
        const Vec<C> gate = C(2) / (C(1) + simd::exp(-gate_logit<C>(p, p.x + row * p.width, h)));
        const index first = p.before + h * p.size;
        const C* e = p.e + row * values + h * p.size;
        simd::for_vectors<C>(0, p.size, [&](index d, auto lanes) {
          simd::store_as<C>(to + first + d, simd::load_as<C>(from + first + d, lanes) + gate * simd::load(e + d, lanes), lanes);
        });
      }
    }
  });
}

// With s = sigmoid(z):  de = 2 s dy,  dz = 2 s (1 - s) <dy, e>,  dx = dz w,  dw = sum of dz x over the rows.
template <class T>
void value_embedding_backward(const ValueEmbedding<T>& p) {
  using C = Computed<T>;
  const index values = p.heads * p.size;
  const index cols = p.before + values;
  const index tiles = ceil_div(p.rows, kMixedSummedRows);
  const index padded = round_up(p.channels, simd::kLanes<C>);
  // Per tile: its dgate, (heads, padded), and one row of dx.
  const index of_tile = (p.heads + 1) * padded;
  const Scratch<C> partial(tiles * of_tile);
  // Each tile has its own sums for the gate's weights.
  parallel_for(tiles, Work::elements(p.rows * (p.width + 3 * values)), [&](index tile) {
    C* sums = partial + tile * of_tile;
    C* row_dx = sums + p.heads * padded;
    std::fill_n(sums, p.heads * padded, C(0));
    const index end = std::min(p.rows, (tile + 1) * kMixedSummedRows);
    for (index row = tile * kMixedSummedRows; row < end; ++row) {
      const T* x = p.x + row * p.width;
      std::fill_n(row_dx, padded, C(0));
      C* de = p.de ? p.de.data + row * values : nullptr;
      const auto for_head = [&](index h, auto&& f) {
        const T* dy = p.dy + row * cols + p.before + h * p.size;
        simd::for_vectors<C>(0, p.size, [&](index d, auto lanes) { f(h * p.size + d, simd::load_as<C>(dy + d, lanes), lanes); });
      };
      // dz of each head adds to dx of the row and to dgate.
      for (index h = 0; h < p.heads; ++h) {
        const Vec<C> z = gate_logit<C>(p, x, h);
        Vec<C> products{};
        for_head(h, [&](index at, Vec<C> dy, auto lanes) { products += dy * simd::load(p.e + row * values + at, lanes); });
        const Vec<C> small = simd::exp(z > C(0) ? -z : z);  // s (1 - s) is even in z, and 1 - s would lose its digits
        const Vec<C> dz = C(2) * small / ((C(1) + small) * (C(1) + small)) * simd::sum<C>(products);
        simd::for_vectors<C>(0, p.channels, [&](index c, auto lanes) {
          simd::store(row_dx + c, simd::load(row_dx + c) + dz * simd::load(p.gate + h * p.channels + c, lanes));
          simd::store(sums + h * padded + c, simd::load(sums + h * padded + c) + dz * simd::load_as<C>(x + c, lanes));
        });
      }
      // Write dx of the row.
      if (p.dx) {
        T* dx = p.dx.data + row * p.width;
        for (index c = 0; c < p.channels; ++c) {
          GradOut<T>{dx, p.dx.add}.put(c, row_dx[c]);
        }
        if (!p.dx.add) {
          std::fill(dx + p.channels, dx + p.width, T{});
        }
      }
      // Write de of the row.
      for (index h = 0; de != nullptr && h < p.heads; ++h) {  // after dx, which may be the same memory
        const Vec<C> gate = C(2) / (C(1) + simd::exp(-gate_logit<C>(p, x, h)));
        for_head(h, [&](index at, Vec<C> dy, auto lanes) { put_row(de + at, p.de.add, gate * dy, lanes); });
      }
    }
  });
  // The tiles' sums are added in their order.
  parallel_for(1, Work::elements(p.dgate ? tiles * p.heads * padded : 0), [&](index) {  // a loop, so that a dry run leaves it out
    for (index h = 0; p.dgate && h < p.heads; ++h) {
      simd::for_vectors<C>(0, p.channels, [&](index c, auto lanes) {
        Vec<C> total{};
        for (index tile = 0; tile < tiles; ++tile) {
          total += simd::load(partial + tile * of_tile + h * padded + c);
        }
        put_row(p.dgate.data + h * p.channels + c, p.dgate.add, total, lanes);
      });
    }
  });
}

template void value_embedding_forward(const ValueEmbedding<float>&);
template void value_embedding_forward(const ValueEmbedding<double>&);
template void value_embedding_forward(const ValueEmbedding<bf16>&);
template void value_embedding_backward(const ValueEmbedding<float>&);
template void value_embedding_backward(const ValueEmbedding<double>&);
template void value_embedding_backward(const ValueEmbedding<bf16>&);

}  // namespace dikkat::kernels
