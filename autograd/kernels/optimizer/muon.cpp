#include "autograd/kernels/optimizer/muon.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/kernels/optimizer/adamw.h"
#include "autograd/kernels/optimizer/magnitude.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements
constexpr index kLines = 16;       // rows of a tile
constexpr index kColumns = 256;    // columns of a tile

// Separate functions with __restrict arguments: only then does gcc know that nothing overlaps, and vectorize the loops.

template <class T>
void accumulate(index n, T scale, T beta, T rest, const T* __restrict gradient, T* __restrict momentum, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    const T g = scale * gradient[i];
    momentum[i] = beta * momentum[i] + rest * g;
    x[i] = beta * momentum[i] + rest * g;
  }
}

template <class T>
void add_squares(index n, const T* __restrict x, double* __restrict sums) {
  for (index i = 0; i < n; ++i) {
    sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
}

template <class T>
void multiply(index n, const T* __restrict factors, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    x[i] *= factors[i];
  }
}

template <class T>
void multiply(index n, T factor, T* __restrict x) {
  for (index i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

/// Returns whether weight and momentum are finite afterwards.
template <bool cautious, class T>
bool move(index n, T decay, T rate, const T* __restrict direction, const T* __restrict momentum, T* __restrict weight) {
  Bits<T> highest = 0;
  for (index i = 0; i < n; ++i) {
    const T kept = !cautious || direction[i] * weight[i] >= 0 ? decay : T{1};
    weight[i] = weight[i] * kept - rate * direction[i];
    highest = std::max({highest, magnitude(weight[i]), magnitude(momentum[i])});
  }
  return highest < kInfiniteMagnitude<T>;
}

/// squares (max(rows, cols)): the sum of the squares of each row of X, or of each column where there are more columns than rows.
template <class T>
void squares_of_lines(index rows, index cols, const T* x, T* squares) {
  const Work work = Work::elements(rows * cols);
  if (rows >= cols) {
    parallel_blocks(rows, kLines, work, [&](index begin, index end) {
      for (index row = begin; row < end; ++row) {
        squares[row] = static_cast<T>(sum_of_squares_here(cols, x + row * cols));
      }
    });
  } else {
    parallel_blocks(cols, kColumns, work, [&](index begin, index end) {
      double sums[kColumns] = {};
      for (index row = 0; row < rows; ++row) {
        add_squares(end - begin, x + row * cols + begin, sums);
      }
      std::copy(sums, sums + (end - begin), squares + begin);
    });
  }
}

/// Returns whether the running squares are finite afterwards. factors: (max(rows, cols)).
template <class T>
bool normalize_lines(const Muon<T>& p, T* direction, T* factors) {
  constexpr double kLeast = 1e-10;
  const index lines = std::max(p.rows, p.cols), length = std::min(p.rows, p.cols);
  squares_of_lines(p.rows, p.cols, direction, factors);
  bool finite = true;
  // Update the running squares and compute a factor for each line, such that the norm of the whole direction does not change.
  parallel_for(1, Work::elements(lines), [&](index) {  // one tile, in the order of lines: a loop, because a dry run must not change state
    double before = 0, after = 0;
    for (index i = 0; i < lines; ++i) {
      const double squares = factors[i];
      const double mean = p.line_beta * p.line_squares[i] + (1 - p.line_beta) * squares / static_cast<double>(length);
      p.line_squares[i] = static_cast<T>(mean);
      finite = finite && std::isfinite(p.line_squares[i]);
      const double factor = 1 / std::sqrt(std::max(mean, kLeast));
      factors[i] = static_cast<T>(factor);
      before += squares;
      after += squares * factor * factor;
    }
    const double back = after > 0 ? std::sqrt(before / after) : 1;
    for (index i = 0; i < lines; ++i) {
      factors[i] = static_cast<T>(factors[i] * back);
    }
  });
  // Multiply the rows, or the columns, by their factors.
  parallel_blocks(p.rows, kLines, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      if (p.rows >= p.cols) {
        multiply(p.cols, factors[row], direction + row * p.cols);
      } else {
        multiply(p.cols, factors, direction + row * p.cols);
      }
    }
  });
  return finite;
}

}  // namespace

template <class T>
bool muon(const Muon<T>& p) {
  const index size = p.rows * p.cols;
  T* const x = p.workspace;
  T* const other = x + size;
  T* const rest_of_it = other + size;
  const auto scale = static_cast<T>(p.gradient_scale), beta = static_cast<T>(p.beta), rest = static_cast<T>(1 - p.beta);
  parallel_blocks(size, kBlock, [&](index begin, index end) {
    accumulate(end - begin, scale, beta, rest, p.gradient + begin, p.momentum + begin, x + begin);
  });
  T* const direction = orthogonalise(p.newton_schulz, p.rows, p.cols, x, other, rest_of_it);
  std::atomic<bool> finite = p.line_squares == nullptr || normalize_lines(p, direction, rest_of_it);

  const auto decay = static_cast<T>(1 - p.learning_rate * p.weight_decay);
  const auto rate = static_cast<T>(p.learning_rate * 0.2 * std::sqrt(static_cast<double>(std::max(p.rows, p.cols))));
  const auto move_block = p.cautious ? move<true, T> : move<false, T>;
  parallel_blocks(size, kBlock, [&](index begin, index end) {
    if (!move_block(end - begin, decay, rate, direction + begin, p.momentum + begin, p.weight + begin)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

index muon_workspace(index rows, index cols) {
  return 2 * rows * cols + std::max(newton_schulz_workspace(rows, cols), std::max(rows, cols));
}

template bool muon<float>(const Muon<float>&);
template bool muon<double>(const Muon<double>&);

}  // namespace dikkat::kernels
