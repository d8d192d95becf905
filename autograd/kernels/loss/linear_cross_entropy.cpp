#include "autograd/kernels/loss/linear_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "autograd/base/denormals.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/packed.h"
#include "autograd/kernels/loss/teacher_rows.h"
#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kLeastPanel = 512, kMostPanel = 2048;  // classes of a panel; both are multiples of kTile
constexpr index kPanelLogits = 1 << 20;                // 4 MB, of which the next loop finds most in L2
constexpr index kTile = 128;                           // classes that share a top
constexpr index kColumns = 32;                         // rows of x, which are columns here, that a thread takes
constexpr index kLine = 16;                            // f32 numbers of a cache line
template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// How far apart the logits of adjacent classes lie: an odd number of cache lines, so that those of a tile fill all sets of L1. With a
/// power of two they would share a few sets.
constexpr index apart_of(index rows) { return rows < 4 * kLine ? rows : (ceil_div(rows, kLine) | 1) * kLine; }

/// The number of classes of a panel.
constexpr index panel_of(index rows) {
  return std::clamp(kPanelLogits / std::max<index>(rows, 1) / kTile * kTile, kLeastPanel, kMostPanel);
}

template <class X>
index logits_size(const LinearCrossEntropy<X>& p) {
  return (p.keep ? p.classes : std::min(p.classes, panel_of(p.rows))) * apart_of(p.rows);
}

/// Returns an upper bound of logits_size() for p.rows rows or fewer. A panel of fewer rows has more classes, so it may hold more logits.
template <class X>
index most_logits_size(const LinearCrossEntropy<X>& p) {
  const index all = p.classes * apart_of(p.rows);
  const index of_panel = std::max(kPanelLogits, kLeastPanel * p.rows) + kMostPanel * 2 * kLine;  // apart_of() adds less than 2 lines
  return p.keep ? all : std::min(all, of_panel);
}

/// The parts of `work`.
template <class T>
struct Workspace {
  template <class X>
  explicit Workspace(const LinearCrossEntropy<X>& p)
      : tiles(ceil_div(p.classes, kTile)),
        apart(apart_of(p.rows)),
        logits(p.work),
        tops(logits + logits_size(p)),
        sums(tops + tiles * p.rows),
        gaps(sums + tiles * p.rows),
        of_target(gaps + tiles * p.rows),
        row_tops(of_target + p.rows),
        row_sums(row_tops + p.rows),
        slopes(row_sums + p.rows),
        taught(p.teacher, slopes + p.rows, tiles, p.rows, apart) {}

  index tiles;
  index apart;   // from the logits of a class to those of the next
  T* logits;     // (classes, rows), rows `apart`, or of one panel
  T* tops;       // (tiles, rows): the largest logit of a tile,
  T* sums;       // (tiles, rows): its sum of e^(logit - top),
  T* gaps;       // (tiles, rows): its sum of top - logit, where labels are smoothed
  T* of_target;  // (rows): the target's logit
  T* row_tops;   // (rows): the largest logit,
  T* row_sums;   // (rows): sum of e^(logit - top)
  T* slopes;     // (rows): dloss * weight / normalizer
  TeacherRows<T> taught;
};

template <class X>
Computed<X> scale_of(const LinearCrossEntropy<X>& p, index row) {
  return static_cast<Computed<X>>((p.weights == nullptr ? 1.0 : static_cast<double>(p.weights[row])) / p.normalizer);
}

struct Panel {
  index first, count;  // of its classes
};
template <class X, class F>
void for_panels(const LinearCrossEntropy<X>& p, F&& f) {
  const index size = panel_of(p.rows);
  for (index first = 0; first < p.classes; first += size) {
    f(Panel{first, std::min(size, p.classes - first)});
  }
}

/// Calls f(first, count, begin, end) for the classes of tiles, counted within the panel, and the columns of blocks, in parallel.
template <class F>
void for_tiles(Panel panel, index rows, F&& f) {
  const index blocks = ceil_div(rows, kColumns);
  parallel_for(ceil_div(panel.count, kTile) * blocks, Work::elements(panel.count * rows), [&](index task) {
    const index first = task / blocks * kTile;
    const index begin = task % blocks * kColumns;
    f(first, std::min(kTile, panel.count - first), begin, std::min(begin + kColumns, rows));
  });
}

/// Replaces -inf by 0, as differences of two -inf would be NaN.
template <class T>
Vec<T> finite_or_zero(Vec<T> top) {
  return top == kLowest<T> ? Vec<T>{} : top;
}

/// Replaces columns `begin` to `end - 1` of the logits z of `count` classes by cap tanh(z / cap).
template <class T>
void cap_logits(T cap, T* logits, index count, index apart, index begin, index end) {
  for (index v = 0; v < count; ++v) {
    simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
      T* own = logits + v * apart + at;
      simd::store(own, cap * simd::tanh(simd::load(own, lanes) * (1 / cap)), lanes);
    });
  }
}

/// Replaces columns `begin` to `end - 1` of the logits of `count` classes by e^(logit - top).
template <class T>
void make_exponentials(const Workspace<T>& w, index tile, T* logits, index count, index rows, index begin, index end, bool with_gaps) {
  simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
    const T* column = logits + at;
    Vec<T> top = simd::broadcast(kLowest<T>);
    for (index v = 0; v < count; ++v) {
      top = simd::max<T>(simd::load(column + v * w.apart, lanes), top);
    }
    simd::store(w.tops + tile * rows + at, top, lanes);
    top = finite_or_zero<T>(top);
    if (with_gaps) {
      Vec<T> gap{};
      for (index v = 0; v < count; ++v) {
        gap += top - simd::load(column + v * w.apart, lanes);
      }
      simd::store(w.gaps + tile * rows + at, gap, lanes);
    }
    Vec<T> total{};
    for (index v = 0; v < count; ++v) {
      const Vec<T> e = simd::exp(simd::load(column + v * w.apart, lanes) - top);
      simd::store(logits + v * w.apart + at, e, lanes);
      total += e;
    }
    simd::store(w.sums + tile * rows + at, total, lanes);
  });
}

/// Combines the sums of the tiles into those of the rows.
template <class T>
void add_tiles(const Workspace<T>& w, index rows, index begin, index end) {
  simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
    Vec<T> top = simd::broadcast(kLowest<T>);
    for (index tile = 0; tile < w.tiles; ++tile) {
      top = simd::max<T>(simd::load(w.tops + tile * rows + at, lanes), top);
    }
    Vec<T> total{};
    for (index tile = 0; tile < w.tiles; ++tile) {
      total += simd::load(w.sums + tile * rows + at, lanes) * simd::exp(simd::load(w.tops + tile * rows + at, lanes) - top);
    }
    simd::store(w.row_tops + at, top, lanes);
    simd::store(w.row_sums + at, total, lanes);
  });
}

/// The cost of a row before scaling.
template <class X, class T>
T cost_of(const LinearCrossEntropy<X>& p, Workspace<T>& w, index row) {
  const T top = w.row_tops[row];
  const T log_sum = std::log(w.row_sums[row]);
  const T target = log_sum + (top - w.of_target[row]);
  if (w.taught.any()) {
    const T of_teacher = w.taught.cost_of(row);
    return (w.taught.rest() == T(0) ? T(0) : w.taught.rest() * target) + static_cast<T>(p.teacher.share) * of_teacher;
  }
  if (p.label_smoothing == 0) {
    return target;  // without smoothing: 0 times an infinite mean would be NaN
  }
  T total{};
  for (index tile = 0; tile < w.tiles; ++tile) {
    const auto count = static_cast<T>(std::min(kTile, p.classes - tile * kTile));
    total += count * (log_sum + (top - w.tops[tile * p.rows + row])) + w.gaps[tile * p.rows + row];
  }
  return static_cast<T>(1 - p.label_smoothing) * target + static_cast<T>(p.label_smoothing / static_cast<double>(p.classes)) * total;
}

/// Sets the dlogits of the classes of a tile that a teacher names. Their gradient is not that of the tail.
template <class X, class T>
void make_dlogits_of_named(const LinearCrossEntropy<X>& p, const Workspace<T>& w, index tile, T* logits, index count, index row) {
  const T cap = static_cast<T>(p.softcap);
  w.taught.for_derivatives(row, tile * kTile, count, [&](index v, T logit, T derivative) {
    const T own = w.taught.rest() * std::exp(logit - w.row_tops[row]) / w.row_sums[row];
    const T t = cap != T(0) ? logit / cap : T(0);
    logits[v * w.apart + row] = w.slopes[row] * (own + derivative) * (T(1) - t) * (T(1) + t);
  });
}

/// Replaces the exponentials of a tile by dlogits.
template <class X, class T>
void make_dlogits(const LinearCrossEntropy<X>& p, const Workspace<T>& w, index tile, T* logits, index count, index begin, index end) {
  const T share = static_cast<T>(p.label_smoothing / static_cast<double>(p.classes));
  const T rest = static_cast<T>(1 - p.label_smoothing) * w.taught.rest();
  const T cap = static_cast<T>(p.softcap);
  simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
    const Vec<T> slope = simd::load(w.slopes + at, lanes);
    const Vec<T> tile_top = simd::load(w.tops + tile * p.rows + at, lanes);
    const Vec<T> in_row = simd::exp(tile_top - simd::load(w.row_tops + at, lanes));
    Vec<T> factor = slope * (in_row / simd::load(w.row_sums + at, lanes, T(1)));
    Vec<T> warm_factor{};
    if (w.taught.any()) {
      factor *= w.taught.rest();
      const Vec<T> log_sum = simd::load(w.taught.log_sums() + at, lanes);
      warm_factor = slope * w.taught.factor() * simd::load(w.taught.tail_factors() + at, lanes) *
                    simd::exp(finite_or_zero<T>(tile_top) * w.taught.warmth() - log_sum);
      if (!w.taught.is_warm()) {  // both are multiples of one exponential
        factor += warm_factor;
      }
    }
    for (index v = 0; v < count; ++v) {
      T* own = logits + v * w.apart + at;
      const Vec<T> e = simd::load(own, lanes, T(1));
      Vec<T> value = e * factor - share * slope;
      if (w.taught.is_warm()) {
        value += w.taught.warmed(e) * warm_factor;
      }
      if (cap != T(0)) {  // the slope of cap tanh(z / cap) is 1 - tanh^2
        const Vec<T> t = (tile_top + simd::log2_of_positive(e) * std::numbers::ln2_v<T>)*(1 / cap);
        value *= (T(1) - t) * (T(1) + t);
      }
      simd::store(own, slope != T(0) ? value : Vec<T>{}, lanes);
    }
  });
  for (index row = begin; row < end; ++row) {
    if (w.taught.any() && w.slopes[row] != T(0)) {
      make_dlogits_of_named(p, w, tile, logits, count, row);
    }
    const index class_in_tile = p.targets[row] - tile * kTile;
    if (w.slopes[row] != T(0) && 0 <= class_in_tile && class_in_tile < count) {
      const T t = cap != T(0) ? w.of_target[row] / cap : T(0);
      logits[class_in_tile * w.apart + row] -= w.slopes[row] * rest * (T(1) - t) * (T(1) + t);
    }
  }
}

/// Panels of the weight as products read them: rows lda apart; or, if the weight is packed, transposed.
template <class T>
struct WeightPanels {
  template <class X>
  explicit WeightPanels(const LinearCrossEntropy<X>& p)
      : is_packed(p.packed_weight.packing != PackedType::f32),
        lda(is_packed ? kApart : p.width),
        unpacked(is_packed ? p.width * kApart : 0) {}

  template <class X>
  const T* operator()(const LinearCrossEntropy<X>& p, Panel panel) const {
    if constexpr (std::is_same_v<T, float>) {
      if (is_packed) {
        unpack_transposed(p.packed_weight, panel.first, panel.count, unpacked, kApart);
        return unpacked;
      }
    }
    return p.weight + panel.first * p.width;
  }

  static constexpr index kApart = kMostPanel + 16;  // a power of two would put all rows of a tile into one set of a cache
  bool is_packed;
  index lda;
  Scratch<T> unpacked;  // (width, kApart)
};

}  // namespace

template <class X>
index linear_cross_entropy_work(const LinearCrossEntropy<X>& p) noexcept {
  const index tiles = ceil_div(p.classes, kTile);
  return most_logits_size(p) + (3 * tiles + 4) * p.rows + TeacherRows<Computed<X>>::work(p.teacher, tiles, p.rows);
}

template <class X>
void linear_cross_entropy_forward(const LinearCrossEntropy<X>& p) {
  using T = Computed<X>;
  Workspace<T> w(p);
  const WeightPanels<T> weight(p);
  for_panels(p, [&](Panel panel) {
    T* logits = w.logits + (p.keep ? panel.first * w.apart : 0);
    // Compute the logits of one panel.
    gemm(GemmOn<X>{.m = panel.count,
                   .n = p.rows,
                   .k = p.width,
                   .a = weight(p, panel),
                   .lda = weight.lda,
                   .transpose_a = weight.is_packed,
                   .b = p.x,
                   .ldb = p.width,
                   .transpose_b = true,
                   .c = logits,
                   .ldc = w.apart});
    // Keep the targets' logits, then put the exponentials in place of the logits.
    for_tiles(panel, p.rows, [&](index first, index count, index begin, index end) {
      if (p.softcap != 0) {
        cap_logits(static_cast<T>(p.softcap), logits + first * w.apart, count, w.apart, begin, end);
      }
      for (index row = begin; row < end; ++row) {
        const index class_in_tile = p.targets[row] - panel.first - first;
        if (0 <= class_in_tile && class_in_tile < count) {
          w.of_target[row] = logits[(first + class_in_tile) * w.apart + row];
        }
      }
      if (w.taught.any()) {
        w.taught.add_tile((panel.first + first) / kTile, panel.first + first, logits + first * w.apart, count, begin, end);
      }
      make_exponentials(w, (panel.first + first) / kTile, logits + first * w.apart, count, p.rows, begin, end, p.label_smoothing != 0);
    });
  });
  // Compute the losses of the rows from the sums of all tiles.
  parallel_blocks(p.rows, kColumns, Work::elements(w.tiles * p.rows), [&](index begin, index end) {
    add_tiles(w, p.rows, begin, end);
    for (index row = begin; row < end; ++row) {
      const T scale = scale_of(p, row);
      p.losses[row] = scale == T(0) ? T(0) : scale * cost_of(p, w, row);
    }
  });
}

template <class X>
void linear_cross_entropy_backward(const LinearCrossEntropy<X>& p) {
  using T = Computed<X>;
  const FlushDenormals flushed;  // also for the code outside of loops
  const Workspace<T> w(p);
  // Compute the derivative of the loss with respect to each row's cost.
  for (index row = 0; row < p.rows; ++row) {
    const T scale = scale_of(p, row);
    w.slopes[row] = scale == T(0) ? T(0) : p.dloss * scale;  // the target of a row of weight 0 may be out of range
  }
  const Scratch<T> dx_transposed(p.dx ? p.width * w.apart : 0);
  const WeightPanels<T> weight(p);
  // Panel by panel, dlogits replace the exponentials, and are multiplied by x and by the weight.
  for_panels(p, [&](Panel panel) {
    T* dlogits = w.logits + panel.first * w.apart;
    for_tiles(panel, p.rows, [&](index first, index count, index begin, index end) {
      make_dlogits(p, w, (panel.first + first) / kTile, dlogits + first * w.apart, count, begin, end);
    });
    const index at = panel.first * p.width;
    if (p.dweight) {
      if (p.dweight_before != nullptr) {  // panel by panel, so that it is in cache for the product
        scaled_copy<T>(panel.count * p.width, p.dloss, p.dweight_before + at, {p.dweight.data + at, p.dweight.add});
      }
      gemm(GemmOn<X>{.m = panel.count,
                     .n = p.width,
                     .k = p.rows,
                     .a = dlogits,
                     .lda = w.apart,
                     .b = p.x,
                     .ldb = p.width,
                     .c = p.dweight.data + at,
                     .ldc = p.width,
                     .add = p.dweight.add || p.dweight_before != nullptr});
    }
    if (p.dx) {  // transposed too, so that the panel is packed and not the weights
      gemm(GemmOn<X>{.m = p.width,
                     .n = p.rows,
                     .k = panel.count,
                     .a = weight(p, panel),
                     .lda = weight.lda,
                     .transpose_a = !weight.is_packed,
                     .b = dlogits,
                     .ldb = w.apart,
                     .c = dx_transposed.data(),
                     .ldc = w.apart,
                     .add = panel.first > 0});
    }
  });
  // Transpose dx back.
  if (p.dx) {
    parallel_blocks(p.rows, kColumns, Work::elements(p.rows * p.width), [&](index begin, index end) {
      for (index row = begin; row < end; ++row) {
        for (index c = 0; c < p.width; ++c) {
          p.dx.put(row * p.width + c, dx_transposed[c * w.apart + row]);
        }
      }
    });
  }
}

#define DIKKAT_INSTANTIATE(X)                                                         \
  template index linear_cross_entropy_work<X>(const LinearCrossEntropy<X>&) noexcept; \
  template void linear_cross_entropy_forward<X>(const LinearCrossEntropy<X>&);        \
  template void linear_cross_entropy_backward<X>(const LinearCrossEntropy<X>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
