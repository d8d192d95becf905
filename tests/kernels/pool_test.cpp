#include "autograd/kernels/image/pool.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/kernels/reference/pool.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::pool_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Case {
  const char* what;
  index planes;
  Window height, width;
};
constexpr Case kCases[] = {
    {"halves", 5, {28, 2, 2}, {28, 2, 2}},
    {"an odd size", 3, {29, 2, 2}, {31, 2, 2}},
    {"windows that overlap", 4, {13, 3, 2, 1}, {35, 3, 2, 1}},
    {"each place", 2, {9, 3, 1, 1}, {17, 3, 1, 1}},
    {"large windows", 2, {11, 5, 3, 2}, {40, 4, 3, 2}},
    {"gaps", 2, {20, 2, 5}, {50, 1, 3}},
    {"one window", 7, {7, 7, 7}, {6, 6, 6}},
    {"one row", 3, {}, {200, 3, 3, 1}},
    {"one column", 3, {50, 2, 1}, {}},
    {"several frames", 2, {200, 2, 2}, {210, 2, 2}},
};

template <class T>
struct Results {
  std::vector<T> y, dx;
  std::vector<std::int32_t> positions;
};

/// Numbers with few values, so that windows have several largest ones.
template <class T>
std::vector<T> input_of(const Case& c) {
  auto x = converted<T>(numbers(c.planes * c.height.size * c.width.size, 1, -2, 2));
  for (T& value : x) {
    value = std::round(value);
  }
  x[x.size() / 3] = std::numeric_limits<T>::quiet_NaN();
  return x;
}

template <class T>
Pool<T> pool_of(const Case& c) {
  return {.planes = c.planes, .height = c.height, .width = c.width};
}

template <class T>
std::size_t windows_of(const Case& c) {
  return static_cast<std::size_t>(c.planes * c.height.count() * c.width.count());
}

template <class T>
Results<T> maxima(const Case& c) {
  const auto x = input_of<T>(c);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  Results<T> r{std::vector<T>(windows_of<T>(c), nan), std::vector<T>(x.size(), nan), std::vector<std::int32_t>(windows_of<T>(c), -7)};
  const auto dy = converted<T>(numbers(std::ssize(r.y), 2));
  auto p = pool_of<T>(c);
  p.x = x.data();
  p.y = r.y.data();
  p.positions = r.positions.data();
  max_pool_forward(p);
  p.dy = dy.data();
  p.dx = {r.dx.data()};
  max_pool_backward(p);
  return r;
}

template <class T>
void expect_maxima(const Case& c) {
  const auto x = input_of<T>(c);
  const auto found = maxima<T>(c);
  auto y = found.y;
  auto positions = found.positions;
  auto p = pool_of<T>(c);
  p.x = x.data();
  p.y = y.data();
  p.positions = positions.data();
  reference::max_pool_forward(p);
  EXPECT_EQ(found.positions, positions);
  EXPECT_TRUE(same_bits(found.y, y));
  // Each slope goes to its maximum.
  const auto dy = converted<double>(numbers(std::ssize(y), 2));
  std::vector<double> dx(x.size());
  const auto windows = static_cast<std::size_t>(c.height.count() * c.width.count());
  for (std::size_t i = 0; i < y.size(); ++i) {
    dx[i / windows * static_cast<std::size_t>(c.height.size * c.width.size) + static_cast<std::size_t>(positions[i])] += dy[i];
  }
  EXPECT_LE(relative_error(found.dx, dx), 1e-6);
}

TEST(MaxPool, EqualsPlainLoops) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.what);
    expect_maxima<float>(c);
    expect_maxima<double>(c);
  }
}

TEST(MaxPool, OfOnlyMinusInfinityIsItsFirstElement) {
  const Case c{"", 2, {9, 3, 2, 1}, {20, 3, 2, 1}};
  const std::vector<float> x(2 * 9 * 20, -std::numeric_limits<float>::infinity());
  std::vector<float> y(windows_of<float>(c)), expected(y);
  std::vector<std::int32_t> positions(y.size()), expected_positions(y.size());
  auto p = pool_of<float>(c);
  p.x = x.data();
  p.y = y.data();
  p.positions = positions.data();
  max_pool_forward(p);
  p.y = expected.data();
  p.positions = expected_positions.data();
  reference::max_pool_forward(p);
  EXPECT_EQ(y, expected);
  EXPECT_EQ(positions, expected_positions);
}

template <class T>
Results<T> means(const Case& c, bool counts_padding, T prefill, bool add) {
  const auto x = converted<T>(numbers(c.planes * c.height.size * c.width.size, 1, -2, 2));
  Results<T> r{std::vector<T>(windows_of<T>(c), std::numeric_limits<T>::quiet_NaN()), std::vector<T>(x.size(), prefill), {}};
  const auto dy = converted<T>(numbers(std::ssize(r.y), 2));
  auto p = pool_of<T>(c);
  p.counts_padding = counts_padding;
  p.x = x.data();
  p.y = r.y.data();
  avg_pool_forward(p);
  p.dy = dy.data();
  p.dx = {r.dx.data(), add};
  avg_pool_backward(p);
  return r;
}

Results<double> means_by_loops(const Case& c, bool counts_padding, double prefill) {
  const auto x = converted<double>(numbers(c.planes * c.height.size * c.width.size, 1, -2, 2));
  Results<double> r{std::vector<double>(windows_of<double>(c)), std::vector<double>(x.size(), prefill), {}};
  const auto dy = converted<double>(numbers(std::ssize(r.y), 2));
  auto p = pool_of<double>(c);
  p.counts_padding = counts_padding;
  p.x = x.data();
  p.y = r.y.data();
  reference::avg_pool(p);
  p.dy = dy.data();
  p.dx = {r.dx.data(), true};
  reference::avg_pool(p);
  return r;
}

TEST(AvgPool, EqualsPlainLoops) {
  for (const Case& c : kCases) {
    for (const bool counts_padding : {true, false}) {
      SCOPED_TRACE(::testing::Message() << c.what << (counts_padding ? ", padding counts" : ""));
      const auto expected = means_by_loops(c, counts_padding, 0);
      const auto found = means<double>(c, counts_padding, std::numeric_limits<double>::quiet_NaN(), false);
      EXPECT_LE(relative_error(found.y, expected.y), 1e-14);
      EXPECT_LE(relative_error(found.dx, expected.dx), 1e-14);
      const auto single = means<float>(c, counts_padding, 3, true);
      EXPECT_LE(relative_error(single.y, expected.y), 1e-6);
      EXPECT_LE(relative_error(single.dx, means_by_loops(c, counts_padding, 3).dx), 1e-6);
    }
  }
}

TEST(Pool, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.what);
    const auto on = [&](int threads) {
      const WithThreads with(threads, Work{0});
      return std::pair(maxima<float>(c), means<float>(c, false, 0, false));
    };
    const auto one = on(1), three = on(3);
    EXPECT_TRUE(same_bits(one.first.y, three.first.y));
    EXPECT_TRUE(same_bits(one.first.dx, three.first.dx));
    EXPECT_TRUE(same_bits(one.second.y, three.second.y));
    EXPECT_TRUE(same_bits(one.second.dx, three.second.dx));
  }
}

}  // namespace
}  // namespace dikkat::kernels::pool_test
