#include "autograd/kernels/gemm/gemm_batch.h"

#include <algorithm>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/run_tasks.h"

namespace dikkat::kernels {

index GemmBatch::count() const {
  index all = 1;
  for (int i = 0; i < axes; ++i) {
    all *= at(i).extent;
  }
  return all;
}

GemmBatch GemmBatch::for_a() const {
  GemmBatch d = *this;
  const bool swaps = transpose_a;
  d.m = swaps ? k : m;
  d.n = swaps ? m : k;
  d.k = n;
  d.lda = swaps ? ldb : ldc;
  d.transpose_a = swaps && transpose_b;
  d.ldb = swaps ? ldc : ldb;
  d.transpose_b = swaps || !transpose_b;
  d.ldc = lda;
  for (int i = 0; i < axes; ++i) {
    const Axis& own = at(i);
    d.axis[static_cast<std::size_t>(i)] = swaps ? Axis{own.extent, own.b, own.c, own.a} : Axis{own.extent, own.c, own.b, own.a};
  }
  return d;
}

GemmBatch GemmBatch::for_b() const {
  GemmBatch d = *this;
  const bool swaps = transpose_b;
  d.m = swaps ? n : k;
  d.n = swaps ? k : n;
  d.k = m;
  d.lda = swaps ? ldc : lda;
  d.transpose_a = swaps || !transpose_a;
  d.ldb = swaps ? lda : ldc;
  d.transpose_b = swaps && transpose_a;
  d.ldc = ldb;
  for (int i = 0; i < axes; ++i) {
    const Axis& own = at(i);
    d.axis[static_cast<std::size_t>(i)] = swaps ? Axis{own.extent, own.c, own.a, own.b} : Axis{own.extent, own.a, own.c, own.b};
  }
  return d;
}

namespace {

constexpr index kTasks = 16;          // enough for some threads
constexpr index kMostSums = 1 << 20;  // elements of partial sums, at most
constexpr double kLarge = 64;         // a product with as many times the least work keeps all threads busy by itself

/// Holds where the matrices of a product begin, relative to those of the first one.
struct Place {
  index a = 0, b = 0, c = 0;
};

/// Some axes of a batch: those along which C differs, or the others.
struct Axes {
  index count = 1;  // number of products
  int axes = 0;
  std::array<GemmBatch::Axis, Shape::kMaxRank> axis{};

  void add(const GemmBatch::Axis& added) {
    axis[static_cast<std::size_t>(axes++)] = added;
    count *= added.extent;
  }
  Place at(index i) const {
    Place place;
    for (int k = axes - 1; k >= 0; --k) {
      const GemmBatch::Axis& own = axis[static_cast<std::size_t>(k)];
      const index here = i % own.extent;
      i /= own.extent;
      place.a += here * own.a;
      place.b += here * own.b;
      place.c += here * own.c;
    }
    return place;
  }
};

template <class T>
class Batch {
 public:
  using Sum = Computed<T>;

  Batch(const GemmBatch& p, const T* a, const T* b, GradOut<T> c) : p_(p), a_(a), b_(b), c_(c) {
    for (int i = 0; i < p.axes; ++i) {
      (p.at(i).c != 0 || p.at(i).extent == 1 ? own_ : repeated_).add(p.at(i));
    }
  }

  void compute() {
    if (own_.count == 0 || p_.m == 0 || p_.n == 0) {
      return;
    }
    const double each = Work::products(p_.m, p_.n, p_.k).multiply_adds;
    const bool is_large = each >= kLarge * kLeastWork.multiply_adds;
    const index parts =
        std::clamp<index>(std::min(kTasks / own_.count, kMostSums / (own_.count * p_.m * p_.n)), 1, std::max<index>(repeated_.count, 1));
    const bool rounds = !std::is_same_v<T, Sum>;
    if (repeated_.count != 1 && (rounds || repeated_.count == 0 || (parts > 1 && !is_large))) {
      compute_in_parts(parts, each);
    } else {
      // Each C is computed by one task, which adds one product after another.
      run_tasks(own_.count, Work{each * static_cast<double>(repeated_.count)}, [&](index i) {
        const Place own = own_.at(i);
        for (index r = 0; r < repeated_.count; ++r) {
          multiply(own, repeated_.at(r), c_.data + own.c, p_.ldc, c_.add || r > 0);
        }
      });
    }
  }

 private:
  /// Computes sums of the products of some indices, then adds these sums in order.
  void compute_in_parts(index parts, double each) {
    const index size = p_.m * p_.n;
    const Scratch<Sum> sums(repeated_.count == 0 ? 0 : own_.count * parts * size);
    if (repeated_.count > 0) {
      run_tasks(own_.count * parts, Work{each * static_cast<double>(ceil_div(repeated_.count, parts))}, [&](index i) {
        const Place own = own_.at(i / parts);
        const index first = repeated_.count * (i % parts) / parts, end = repeated_.count * (i % parts + 1) / parts;
        for (index r = first; r < end; ++r) {
          multiply(own, repeated_.at(r), sums + i * size, p_.n, r > first);
        }
      });
    }
    const index all_parts = repeated_.count == 0 ? 0 : parts;
    const index rows_at_once = std::max<index>(1, (1 << 12) / p_.n);
    parallel_blocks(own_.count * p_.m, rows_at_once, Work::elements(own_.count * (all_parts + 1) * size), [&](index begin, index end) {
      for (index row = begin; row < end; ++row) {
        const index i = row / p_.m, in_matrix = row % p_.m;
        const Sum* from = sums + i * all_parts * size + in_matrix * p_.n;
        const index to = own_.at(i).c + in_matrix * p_.ldc;
        for (index col = 0; col < p_.n; ++col) {
          Sum sum{};
          for (index part = 0; part < all_parts; ++part) {
            sum += from[part * size + col];
          }
          c_.put(to + col, sum);
        }
      }
    });
  }

  template <class C>
  void multiply(const Place& own, const Place& repeated, C* c, index ldc, bool add) const {
    gemm(GemmOn<T>{.m = p_.m,
                   .n = p_.n,
                   .k = p_.k,
                   .a = a_ + own.a + repeated.a,
                   .lda = p_.lda,
                   .transpose_a = p_.transpose_a,
                   .b = b_ + own.b + repeated.b,
                   .ldb = p_.ldb,
                   .transpose_b = p_.transpose_b,
                   .c = c,
                   .ldc = ldc,
                   .add = add});
  }

  const GemmBatch& p_;
  const T* a_;
  const T* b_;
  GradOut<T> c_;
  Axes own_, repeated_;
};

}  // namespace

template <class T>
void gemm_batch(const GemmBatch& batch, const T* a, const T* b, GradOut<T> c) {
  Batch<T>(batch, a, b, c).compute();
}

template void gemm_batch<float>(const GemmBatch&, const float*, const float*, GradOut<float>);
template void gemm_batch<double>(const GemmBatch&, const double*, const double*, GradOut<double>);
template void gemm_batch<bf16>(const GemmBatch&, const bf16*, const bf16*, GradOut<bf16>);

}  // namespace dikkat::kernels
