#include "autograd/kernels/image/convolution.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/convolution.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::convolution_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Case {
  const char* what;
  ConvolutionSizes sizes;
  bool bias = true;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"digits, first layer", {2, 1, 16, 1, {28, 3, 1, 1}, {28, 3, 1, 1}}},
      {"digits, second layer", {3, 16, 32, 1, {28, 3}, {28, 3}}},
      {"one pixel", {1, 3, 5, 1, {3, 3}, {3, 3}}},
      {"windows of one element", {3, 17, 21, 1, {13, 1}, {11, 1}}, false},
      {"windows of one element, in place", {2, 17, 21, 1, {16, 1}, {13, 1}}},
      {"windows of one element, several blocks in place", {2, 1400, 5, 1, {16, 1}, {9, 1}}},
      {"windows of one element, several blocks", {2, 1400, 5, 1, {13, 1}, {11, 1}}},
      {"windows of one element, many small images", {35, 5, 19, 1, {3, 1}, {3, 1}}},
      {"windows of one element, with gaps", {2, 5, 7, 1, {9, 1, 2}, {10, 1, 3}}},
      {"many small images", {33, 6, 18, 1, {7, 3, 2, 1}, {5, 3, 1, 1}}},
      {"many small images in groups", {50, 6, 9, 3, {4, 2}, {5, 3}}, false},
      {"several blocks of an image", {2, 160, 20, 1, {13, 3}, {11, 3, 1, 1}}},
      {"several blocks in groups", {1, 320, 34, 2, {12, 3, 1, 1}, {14, 3}}},
      {"strides", {2, 3, 18, 1, {30, 3, 2, 1}, {31, 5, 2, 2}}},
      {"strides of three, dilation", {2, 4, 6, 2, {40, 3, 3, 4, 2}, {37, 2, 3, 1, 4}}, false},
      {"gaps between windows", {2, 3, 5, 1, {17, 2, 5}, {50, 2, 4, 1}}},
      {"a kernel as large as the image", {4, 5, 6, 1, {6, 6}, {7, 7}}},
      {"more padding than kernel", {2, 2, 6, 1, {4, 2, 1, 5}, {3, 3, 2, 6}}},
      {"one row", {3, 4, 17, 1, {}, {700, 5, 1, 2}}},
      {"one column", {2, 4, 5, 1, {300, 3, 2}, {}}},
      {"wide rows in several blocks", {1, 30, 5, 1, {3, 3}, {1000, 7, 1, 3}}},
      {"depthwise", {2, 19, 19, 19, {9, 3, 1, 1}, {33, 3, 1, 1}}},
      {"depthwise, several filters of a channel", {3, 5, 15, 5, {8, 4, 2, 2}, {21, 3, 2, 1, 2}}},
      {"depthwise, several frames", {2, 3, 3, 3, {140, 3, 3, 1}, {200, 5}}, false},
      {"few filters of one channel", {2, 1, 3, 1, {10, 5}, {9, 2, 3}}},
      {"a depth of 19 and 17 filters", {2, 1, 17, 1, {5, 1}, {130, 19}}},
  };
  return all;
}

/// All that a convolution computes, from random numbers.
template <class T>
struct Results {
  std::vector<T> y, dx, dweight, dbias;
};

template <class T, class Forward, class Backward>
Results<T> results(const Case& c, T prefill, bool add, Forward&& forward, Backward&& backward) {
  const ConvolutionSizes& s = c.sizes;
  const auto x = converted<T>(numbers(s.images * s.channels * s.image(), 1));
  const auto weight = converted<T>(numbers(s.filters * s.depth(), 2));
  const auto bias = converted<T>(numbers(s.filters, 3));
  const auto dy = converted<T>(numbers(s.images * s.filters * s.pixels(), 4));
  Results<T> r{std::vector<T>(dy.size(), std::numeric_limits<T>::quiet_NaN()), std::vector<T>(x.size(), prefill),
               std::vector<T>(weight.size(), prefill), std::vector<T>(bias.size(), prefill)};
  forward(Convolution<T>{.sizes = s, .x = x.data(), .weight = weight.data(), .bias = c.bias ? bias.data() : nullptr, .y = r.y.data()});
  backward(Convolution<T>{.sizes = s,
                          .x = x.data(),
                          .weight = weight.data(),
                          .dy = dy.data(),
                          .dx = {r.dx.data(), add},
                          .dweight = {r.dweight.data(), add},
                          .dbias = {r.dbias.data(), add}});
  return r;
}
template <class T>
Results<T> by_kernel(const Case& c, T prefill = std::numeric_limits<T>::quiet_NaN(), bool add = false) {
  return results<T>(
      c, prefill, add, [](const Convolution<T>& p) { convolution_forward(p); }, [](const Convolution<T>& p) { convolution_backward(p); });
}
Results<double> by_reference(const Case& c, double prefill = 0) {
  return results<double>(
      c, prefill, true, [](const Convolution<double>& p) { reference::convolution_forward(p); },
      [](const Convolution<double>& p) { reference::add_convolution_backward(p); });
}

template <class T>
void expect_close(const Results<T>& found, const Results<double>& expected, double bound) {
  EXPECT_LE(relative_error(found.y, expected.y), bound);
  EXPECT_LE(relative_error(found.dx, expected.dx), bound);
  EXPECT_LE(relative_error(found.dweight, expected.dweight), bound);
  EXPECT_LE(relative_error(found.dbias, expected.dbias), bound);
}

// Memory of results begins as NaN, so all of it is written.
TEST(Convolution, EqualsPlainLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const auto expected = by_reference(c);
    expect_close(by_kernel<double>(c), expected, 1e-13);
    expect_close(by_kernel<float>(c), expected, 5e-6);
  }
}

TEST(Convolution, AddsToEarlierGradients) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    expect_close(by_kernel<double>(c, 3, true), by_reference(c, 3), 1e-13);
  }
}

TEST(Convolution, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const auto on = [&](int threads) {
      const WithThreads with(threads, Work{0});
      return by_kernel<float>(c);
    };
    const auto one = on(1);
    for (const int threads : {2, 3, 4}) {
      const auto found = on(threads);
      EXPECT_TRUE(same_bits(found.y, one.y)) << threads;
      EXPECT_TRUE(same_bits(found.dx, one.dx)) << threads;
      EXPECT_TRUE(same_bits(found.dweight, one.dweight)) << threads;
      EXPECT_TRUE(same_bits(found.dbias, one.dbias)) << threads;
    }
  }
}

TEST(Convolution, OfNoImagesHasGradientsOfZero) {
  for (Case c : cases()) {
    SCOPED_TRACE(c.what);
    c.sizes.images = 0;
    const auto found = by_kernel<float>(c);
    EXPECT_EQ(found.dweight, std::vector<float>(found.dweight.size()));
    EXPECT_EQ(found.dbias, std::vector<float>(found.dbias.size()));
  }
}

// A pixel that is NaN reaches the windows that see it, and no other ones: scratch memory past the end of rows is not used.
TEST(Convolution, NotANumberStaysInItsWindows) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const ConvolutionSizes& s = c.sizes;
    auto x = numbers(s.images * s.channels * s.image(), 1);
    const auto weight = numbers(s.filters * s.depth(), 2);
    const std::size_t at = x.size() / 2;
    x[at] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> y(static_cast<std::size_t>(s.images * s.filters * s.pixels()));
    std::vector<bool> sees(y.size());
    reference::for_multiply_adds(s, [&](index from, index, index to) {
      sees[static_cast<std::size_t>(to)] = sees[static_cast<std::size_t>(to)] || from == static_cast<index>(at);
    });
    convolution_forward<float>({.sizes = s, .x = x.data(), .weight = weight.data(), .y = y.data()});
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(std::isnan(y[i]), sees[i]) << i;
    }
  }
}

// One image of 64 channels, whose unfolded windows would take 60 MB.
TEST(Convolution, TakesLittleScratchMemoryForLargeImages) {
  const ConvolutionSizes s{1, 64, 32, 1, {160, 3, 1, 1}, {160, 3, 1, 1}};
  const Case c{"large", s};
  const WithThreads with(2);
  const DryRun dry;
  by_kernel<float>(c);
  EXPECT_GT(dry.scratch_bytes(2), std::size_t{2} * 64 * 9 * 48 * sizeof(float)) << "each thread unfolds 48 windows or more";
  EXPECT_LT(dry.scratch_bytes(2), std::size_t{8} << 20);
}

std::vector<float> unfolded(const ConvolutionSizes& s, const std::vector<float>& x) {
  std::vector<float> y(static_cast<std::size_t>(s.images * s.channels * s.taps() * s.pixels()), std::numeric_limits<float>::quiet_NaN());
  unfold_forward<float>({.sizes = s, .x = x.data(), .y = y.data()});
  return y;
}

TEST(Unfold, EqualsPlainLoops) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    ConvolutionSizes s = c.sizes;
    s.groups = 1;
    s.filters = 1;
    const auto x = numbers(s.images * s.channels * s.image(), 1);
    std::vector<float> expected(static_cast<std::size_t>(s.images * s.channels * s.taps() * s.pixels()));
    const auto dy = numbers(static_cast<index>(expected.size()), 2);
    std::vector<double> expected_dx(x.size(), 2.0);
    reference::for_multiply_adds(s, [&](index from, index tap, index to) {
      const auto in_y = static_cast<std::size_t>((to / s.pixels() * s.depth() + tap) * s.pixels() + to % s.pixels());
      expected[in_y] = x[static_cast<std::size_t>(from)];
      expected_dx[static_cast<std::size_t>(from)] += static_cast<double>(dy[in_y]);
    });
    EXPECT_TRUE(same_bits(unfolded(s, x), expected));
    for (const bool add : {false, true}) {
      std::vector<float> dx(x.size(), add ? 2.0F : std::numeric_limits<float>::quiet_NaN());
      unfold_backward<float>({.sizes = s, .dy = dy.data(), .dx = {dx.data(), add}});
      for (float& value : dx) {
        value += add ? 0.0F : 2.0F;
      }
      EXPECT_LE(relative_error(dx, expected_dx), 2e-6);
    }
    const WithThreads with(3, Work{0});
    EXPECT_TRUE(same_bits(unfolded(s, x), expected));
  }
}

}  // namespace
}  // namespace dikkat::kernels::convolution_test
