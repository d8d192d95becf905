#include "autograd/kernels/head_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/head_norm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::head_norm_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Layout {
  index rows, heads, key_heads, size, rest;
  index other_size = 0;  // of heads of keys; 0: as of queries
  index key_size() const { return other_size == 0 ? size : other_size; }
  index width() const { return heads * size + key_heads * key_size() + rest; }
};

template <class T>
struct Result {
  std::vector<T> y, dx, dq_gamma, dk_gamma;
};

/// Numbers that bf16 holds exactly.
std::vector<float> short_numbers(index n, std::uint64_t seed, float low, float high) {
  std::vector<float> values = numbers(n, seed, low, high);
  for (float& value : values) {
    value = to_float(to_bf16(value));
  }
  return values;
}

std::vector<float> some_rows(const Layout& l) { return short_numbers(l.rows * l.width(), 1, -2, 3); }

template <class To>
std::vector<To> stored(const std::vector<float>& values) {
  std::vector<To> other;
  for (const float value : values) {
    if constexpr (std::is_same_v<To, bf16>) {
      other.push_back(to_bf16(value));
    } else {
      other.push_back(static_cast<To>(value));
    }
  }
  return other;
}
template <class T>
std::vector<Computed<T>> loaded(const std::vector<T>& values) {
  std::vector<Computed<T>> other;
  for (const T value : values) {
    other.push_back(to_computed(value));
  }
  return other;
}

template <class T, class Forward, class Backward>
Result<Computed<T>> run(const Layout& l, const std::vector<float>& x32, Forward&& forward, Backward&& backward) {
  using C = Computed<T>;
  const auto x = stored<T>(x32);
  const auto q_gamma = converted<C>(numbers(l.size, 2));
  const auto k_gamma = converted<C>(numbers(l.key_size(), 3));
  std::vector<T> y(x.size(), T{});
  auto dy = stored<T>(short_numbers(l.rows * l.width(), 4, -1, 1));
  const auto nothing = [](index n) { return std::vector<C>(static_cast<std::size_t>(n), std::numeric_limits<C>::quiet_NaN()); };
  Result<C> r{{}, {}, nothing(l.size), nothing(l.key_size())};
  HeadNorm<T> p{.rows = l.rows,
                .heads = l.heads,
                .key_heads = l.key_heads,
                .size = l.size,
                .key_size = l.key_size(),
                .rest = l.rest,
                .q_gamma = q_gamma.data(),
                .k_gamma = k_gamma.data(),
                .x = x.data(),
                .y = y.data()};
  forward(p);
  p.y = dy.data();
  p.dq_gamma = {r.dq_gamma.data()};
  p.dk_gamma = {r.dk_gamma.data()};
  backward(p);
  r.y = loaded(y);
  r.dx = loaded(dy);
  return r;
}
template <class T>
Result<Computed<T>> by_kernel(const Layout& l, const std::vector<float>& x) {
  return run<T>(l, x, [](const HeadNorm<T>& p) { head_norm_forward(p); }, [](const HeadNorm<T>& p) { head_norm_backward(p); });
}
Result<double> by_reference(const Layout& l, const std::vector<float>& x) {
  return run<double>(
      l, x, [](const HeadNorm<double>& p) { reference::head_norm_forward(p); },
      [](const HeadNorm<double>& p) { reference::head_norm_backward(p); });
}

// With bf16, the sums of dgamma are still f32: from operands that bf16 holds exactly, they are as accurate.
template <class T>
void expect_close(const Result<T>& found, const Result<double>& expected, double of_rows, double of_gammas) {
  EXPECT_LE(relative_error(found.y, expected.y), of_rows);
  EXPECT_LE(relative_error(found.dx, expected.dx), of_rows);
  EXPECT_LE(relative_error(found.dq_gamma, expected.dq_gamma), of_gammas);
  EXPECT_LE(relative_error(found.dk_gamma, expected.dk_gamma), of_gammas);
}

// The rows are on both sides of a tile's (8 forward, 16 backward), heads do not fill whole vectors, and some cases have only one kind of
// heads.
TEST(HeadNormKernel, EqualsPlainLoops) {
  for (const index size : {2, 5, 16, 20, 33, 64, 128}) {
    for (const index rows : {1, 7, 8, 15, 16, 17, 50}) {
      for (const Layout& l :
           {Layout{rows, 1, 1, size, 0}, Layout{rows, 3, 1, size, size}, Layout{rows, 2, 0, size, 0}, Layout{rows, 0, 2, size, 7}}) {
        SCOPED_TRACE(concat(rows, " rows, ", l.heads, " and ", l.key_heads, " heads of ", size, ", ", l.rest, " others"));
        const auto x = some_rows(l);
        const auto expected = by_reference(l, x);
        expect_close(by_kernel<double>(l, x), expected, 1e-13, 1e-13);
        expect_close(by_kernel<float>(l, x), expected, 2e-6, 2e-6);
        expect_close(by_kernel<bf16>(l, x), expected, 0x1p-8, 2e-6);
      }
    }
  }
}

// All queries of a row are one head, and all keys are another one, which is narrower or wider.
TEST(HeadNormKernel, HeadsOfTwoSizesEqualPlainLoops) {
  for (const auto& [size, key_size] : {std::pair<index, index>{5, 3}, {64, 20}, {16, 80}, {130, 33}}) {
    for (const index rows : {1, 8, 17, 50}) {
      for (const Layout& l : {Layout{rows, 1, 1, size, 7, key_size}, Layout{rows, 2, 3, size, 0, key_size}}) {
        SCOPED_TRACE(concat(rows, " rows, ", l.heads, " heads of ", size, " and ", l.key_heads, " of ", key_size));
        const auto x = some_rows(l);
        const auto expected = by_reference(l, x);
        expect_close(by_kernel<double>(l, x), expected, 1e-13, 1e-13);
        expect_close(by_kernel<float>(l, x), expected, 2e-6, 2e-6);
        expect_close(by_kernel<bf16>(l, x), expected, 0x1p-8, 2e-6);
      }
    }
  }
}

TEST(HeadNormKernel, PassesTheValuesOn) {
  const Layout l{20, 2, 1, 5, 5};
  const auto x = some_rows(l);
  const auto dy = short_numbers(l.rows * l.width(), 4, -1, 1);
  const auto found = by_kernel<float>(l, x);
  for (index row = 0; row < l.rows; ++row) {
    for (index at = l.width() - l.rest; at < l.width(); ++at) {
      const auto i = static_cast<std::size_t>(row * l.width() + at);
      EXPECT_EQ(found.y[i], x[i]);
      EXPECT_EQ(found.dx[i], dy[i]);
    }
  }
}

TEST(HeadNormKernel, HasTheSameBitsOnAnyNumberOfThreads) {
  const Layout l{100, 3, 1, 20, 20};
  const auto x = some_rows(l);
  const auto on = [&](int threads) {
    const WithThreads with(threads, Work{0});
    return by_kernel<float>(l, x);
  };
  const auto one = on(1);
  for (const int threads : {2, 3, 4}) {
    const auto found = on(threads);
    EXPECT_TRUE(same_bits(found.y, one.y)) << threads;
    EXPECT_TRUE(same_bits(found.dx, one.dx)) << threads;
    EXPECT_TRUE(same_bits(found.dq_gamma, one.dq_gamma)) << threads;
    EXPECT_TRUE(same_bits(found.dk_gamma, one.dk_gamma)) << threads;
  }
}

TEST(HeadNormKernel, NotANumberStaysInItsHead) {
  const Layout l{3, 2, 1, 19, 19};
  auto x = some_rows(l);
  const index head = l.width() + 19;  // row 1, head 1
  x[static_cast<std::size_t>(head + 18)] = std::numeric_limits<float>::quiet_NaN();
  const auto found = by_kernel<float>(l, x);
  for (index i = 0; i < std::ssize(x); ++i) {
    const bool is_inside = head <= i && i < head + 19;
    EXPECT_EQ(std::isnan(found.y[static_cast<std::size_t>(i)]), is_inside) << i;
    EXPECT_EQ(std::isnan(found.dx[static_cast<std::size_t>(i)]), is_inside) << i;
  }
}

TEST(HeadNormKernel, AddsToScalesAndSkipsThem) {
  const Layout l{40, 2, 1, 6, 3};
  const auto x = some_rows(l);
  const auto once = by_kernel<double>(l, x);
  const auto added = run<double>(
      l, x, [](const HeadNorm<double>& p) { head_norm_forward(p); },
      [](HeadNorm<double> p) {
        std::fill_n(p.dq_gamma.data, p.size, 7.0);
        p.dq_gamma.add = true;
        p.dk_gamma = {};
        head_norm_backward(p);
      });
  EXPECT_TRUE(same_bits(added.dx, once.dx));
  for (std::size_t d = 0; d < 6; ++d) {
    EXPECT_NEAR(added.dq_gamma[d], 7 + once.dq_gamma[d], 1e-12);
    EXPECT_TRUE(std::isnan(added.dk_gamma[d])) << "nothing is written";
  }
}

}  // namespace
}  // namespace dikkat::kernels::head_norm_test
