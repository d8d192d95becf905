#include "autograd/tape/initial_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/simd/philox.h"

namespace dikkat {
namespace {

constexpr index kBlock = 1 << 12;  // elements; even

/// Elements [begin, end) of a parameter.
struct Elements {
  index begin, end;
};

/// Draws normal numbers by the Box-Muller transform: elements 2i and 2i + 1 come from uniform numbers 2i and 2i + 1.
template <class T>
void draw_normal(Elements some, double std, const RandomStream& stream, T* out) {
  const index first = some.begin / 2 * 2;  // no block cuts a pair
  parallel_blocks(some.end - first, kBlock, [&](index begin, index end) {
    for (index i = first + begin; i < first + end; i += 2) {
      const double radius = std * std::sqrt(-2 * std::log(1 - stream.uniform(i)));
      const double angle = 2 * std::numbers::pi * stream.uniform(i + 1);
      if (i >= some.begin) {
        out[i] = static_cast<T>(radius * std::cos(angle));
      }
      if (i + 1 < some.end) {
        out[i + 1] = static_cast<T>(radius * std::sin(angle));
      }
    }
  });
}

template <class T>
void draw_uniform(Elements some, double low, double high, const RandomStream& stream, T* out) {
  parallel_blocks(some.end - some.begin, kBlock, [&](index begin, index end) {
    for (index i = some.begin + begin; i < some.begin + end; ++i) {
      out[i] = static_cast<T>(low + (high - low) * stream.uniform(i));
    }
  });
}

/// Draws normal numbers of at most `cut`, times std. Attempt k for element i of n has the uniform numbers 2 (i + k n) and the one after it.
template <class T>
void draw_truncated_normal(index n, double std, double cut, const RandomStream& stream, T* out) {
  parallel_blocks(n, kBlock, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      double z = 2 * cut;
      for (index at = i; std::abs(z) > cut; at += n) {
        z = std::sqrt(-2 * std::log(1 - stream.uniform(2 * at))) * std::cos(2 * std::numbers::pi * stream.uniform(2 * at + 1));
      }
      out[i] = static_cast<T>(std * z);
    }
  });
}

double dot(const double* a, const double* b, index n) {
  constexpr index kLanes = 8;  // sums of interleaved elements, which are added in the end
  double sums[kLanes] = {};
  index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (index lane = 0; lane < kLanes; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  double sum = 0;
  for (; i < n; ++i) {
    sum += a[i] * b[i];
  }
  for (const double lane : sums) {
    sum += lane;
  }
  return sum;
}

/// Makes the rows of a matrix (count, width) orthonormal by the modified Gram-Schmidt process; count is at most width. The rounding error
/// grows with the condition of the matrix, which is moderate for random numbers.
void make_orthonormal(double* rows, index count, index width) {
  for (index i = 0; i < count; ++i) {
    double* const row = rows + i * width;
    const double norm = std::sqrt(dot(row, row, width));
    std::for_each(row, row + width, [&](double& x) { x /= norm; });
    parallel_for(count - i - 1, Work::products(count - i - 1, 1, 2 * width), [&](index tile) {
      double* const other = row + (tile + 1) * width;
      const double part = dot(row, other, width);
      for (index k = 0; k < width; ++k) {
        other[k] -= part * row[k];
      }
    });
  }
}

/// Draws elements as a matrix (rows, cols), the orthonormal form of a matrix of normal numbers.
template <class T>
void draw_orthogonal(Elements some, index rows, double gain, const RandomStream& stream, T* out) {
  const index cols = (some.end - some.begin) / rows;
  const bool by_rows = rows <= cols;
  std::vector<double> normal(static_cast<std::size_t>(some.end));
  draw_normal(some, 1, stream, normal.data());
  const double* const drawn = normal.data() + some.begin;
  std::vector<double> matrix(drawn, drawn + rows * cols);
  for (index i = 0; !by_rows && i < rows * cols; ++i) {
    matrix[static_cast<std::size_t>(i % cols * rows + i / cols)] = drawn[i];
  }
  make_orthonormal(matrix.data(), std::min(rows, cols), std::max(rows, cols));
  for (index i = 0; i < rows * cols; ++i) {
    out[some.begin + i] = static_cast<T>(gain * matrix[static_cast<std::size_t>(by_rows ? i : i % cols * rows + i / cols)]);
  }
}

/// Draws rows of a parameter (out, in, ...) by a rule that follows from its shape.
template <class T>
void draw_by_shape(const Init& init, const Shape& shape, Elements some, index rows, const RandomStream& stream, T* out) {
  const auto fan_in = static_cast<double>(shape.size() / shape[0]);
  const double fan_out = static_cast<double>(rows) * fan_in / static_cast<double>(shape[1]);
  const double xavier = init.gain * std::sqrt(2 / (fan_in + fan_out)), kaiming = init.gain / std::sqrt(fan_in);
  const auto uniform = [&](double std) { draw_uniform(some, -std::numbers::sqrt3 * std, std::numbers::sqrt3 * std, stream, out); };
  switch (init.kind) {
    case Init::Kind::xavier_uniform: uniform(xavier); break;
    case Init::Kind::xavier_normal: draw_normal(some, xavier, stream, out); break;
    case Init::Kind::kaiming_uniform: uniform(kaiming); break;
    case Init::Kind::kaiming_normal: draw_normal(some, kaiming, stream, out); break;
    case Init::Kind::orthogonal: draw_orthogonal(some, rows, init.gain, stream, out); break;
    case Init::Kind::zeros:
    case Init::Kind::ones:
    case Init::Kind::normal:
    case Init::Kind::uniform:
    case Init::Kind::truncated_normal: break;  // they do not follow from the shape
  }
}

}  // namespace

template <class T>
void draw_initial_values(const ParameterStore::Entry& entry, std::uint64_t seed) {
  auto* const data = static_cast<T*>(entry.values);
  const Init& init = entry.init;
  const RandomStream stream(seed, "init/" + entry.path, 0);
  const index n = entry.size();
  if (init.follows_from_shape()) {
    if (n == 0) {
      return;
    }
    const index width = n / entry.shape()[0];
    const std::vector<index> parts = entry.row_parts.empty() ? std::vector<index>{entry.shape()[0]} : entry.row_parts;
    index begin = 0;
    for (const index rows : parts) {
      draw_by_shape(init, entry.shape(), {begin, begin + rows * width}, rows, stream, data);
      begin += rows * width;
    }
    return;
  }
  switch (init.kind) {
    case Init::Kind::zeros: std::fill_n(data, n, T(0)); break;
    case Init::Kind::ones: std::fill_n(data, n, T(1)); break;
    case Init::Kind::normal: draw_normal({0, n}, init.std, stream, data); break;
    case Init::Kind::uniform: draw_uniform({0, n}, init.low, init.high, stream, data); break;
    case Init::Kind::truncated_normal: draw_truncated_normal(n, init.std, init.cut, stream, data); break;
    case Init::Kind::xavier_uniform:
    case Init::Kind::xavier_normal:
    case Init::Kind::kaiming_uniform:
    case Init::Kind::kaiming_normal:
    case Init::Kind::orthogonal: break;  // drawn above
  }
}

template void draw_initial_values<float>(const ParameterStore::Entry& entry, std::uint64_t seed);
template void draw_initial_values<double>(const ParameterStore::Entry& entry, std::uint64_t seed);

}  // namespace dikkat
