#include "autograd/kernels/value_embedding.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/value_embedding.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::value_embedding_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Sizes {
  index rows, before, heads, size, width, channels;
  index values() const { return heads * size; }
  index cols() const { return before + values(); }
};

template <class T>
std::vector<T> stored(const std::vector<float>& values) {
  std::vector<T> other;
  for (const float value : values) {
    const bf16 rounded = to_bf16(value);  // so that bf16 holds the same numbers
    if constexpr (std::is_same_v<T, bf16>) {
      other.push_back(rounded);
    } else {
      other.push_back(static_cast<T>(to_float(rounded)));
    }
  }
  return other;
}

template <class C>
struct Result {
  std::vector<C> y, dx, de, dgate;
};
template <class T>
std::vector<Computed<T>> loaded(const std::vector<T>& values) {
  std::vector<Computed<T>> other;
  for (const T value : values) {
    other.push_back(to_computed(value));
  }
  return other;
}

template <class T, class Forward, class Backward>
Result<Computed<T>> run(const Sizes& s, Forward&& forward, Backward&& backward, float gates = 1) {
  using C = Computed<T>;
  const auto qkv = stored<T>(numbers(s.rows * s.cols(), 1));
  const auto x = stored<T>(numbers(s.rows * s.width, 2));
  const auto dy = stored<T>(numbers(s.rows * s.cols(), 3));
  const auto e = converted<C>(numbers(s.rows * s.values(), 4));
  const auto gate = converted<C>(numbers(s.heads * s.channels, 5, -gates, gates));
  const C nan = std::numeric_limits<C>::quiet_NaN();
  std::vector<T> y(qkv.size()), dx(x.size(), to_stored<T>(nan));
  Result<C> r{{}, {}, std::vector<C>(e.size(), nan), std::vector<C>(gate.size(), nan)};
  const ValueEmbedding<T> p{.rows = s.rows,
                            .before = s.before,
                            .heads = s.heads,
                            .size = s.size,
                            .width = s.width,
                            .channels = s.channels,
                            .x = x.data(),
                            .e = e.data(),
                            .gate = gate.data(),
                            .qkv = qkv.data(),
                            .y = y.data(),
                            .dy = dy.data(),
                            .dx = {dx.data()},
                            .de = {r.de.data()},
                            .dgate = {r.dgate.data()}};
  forward(p);
  backward(p);
  r.y = loaded(y);
  r.dx = loaded(dx);
  return r;
}
template <class T>
Result<Computed<T>> by_kernel(const Sizes& s, float gates = 1) {
  return run<T>(
      s, [](const ValueEmbedding<T>& p) { value_embedding_forward(p); }, [](const ValueEmbedding<T>& p) { value_embedding_backward(p); },
      gates);
}
Result<double> by_reference(const Sizes& s, float gates = 1) {
  return run<double>(
      s, [](const ValueEmbedding<double>& p) { reference::value_embedding_forward(p); },
      [](const ValueEmbedding<double>& p) { reference::value_embedding_backward(p); }, gates);
}

// With bf16, the sums of dgate and de are still f32: from operands that bf16 holds exactly, they are as accurate.
template <class T>
void expect_close(const Result<T>& found, const Result<double>& expected, double stored, double computed) {
  EXPECT_LE(relative_error(found.y, expected.y), stored);
  EXPECT_LE(relative_error(found.dx, expected.dx), stored);
  EXPECT_LE(relative_error(found.de, expected.de), computed);
  EXPECT_LE(relative_error(found.dgate, expected.dgate), computed);
}

// The rows are on both sides of a tile's (8 forward, 16 backward), heads and channels do not fill whole vectors, and some values have no q
// and k.
TEST(ValueEmbeddingKernel, EqualsPlainLoops) {
  for (const index size : {1, 5, 16, 33}) {
    for (const index rows : {1, 7, 8, 16, 17, 50}) {
      for (const index channels : {1, 12, 16, 21}) {
        for (const auto& [before, heads] : {std::pair<index, index>{0, 1}, {3 * size, 2}}) {
          const Sizes s{rows, before, heads, size, channels + 3, channels};
          SCOPED_TRACE(concat(rows, " rows, ", heads, " heads of ", size, " after ", before, ", ", channels, " channels"));
          const auto expected = by_reference(s);
          expect_close(by_kernel<double>(s), expected, 1e-13, 1e-13);
          expect_close(by_kernel<float>(s), expected, 2e-6, 5e-6);
          expect_close(by_kernel<bf16>(s), expected, 0x1p-8, 5e-6);
        }
      }
    }
  }
}

TEST(ValueEmbeddingKernel, HasTheSameBitsOnAnyNumberOfThreads) {
  const Sizes s{100, 40, 2, 20, 50, 12};
  const auto on = [&](int threads) {
    const WithThreads with(threads, Work{0});
    return by_kernel<float>(s);
  };
  const auto one = on(1);
  for (const int threads : {2, 3, 4}) {
    const auto found = on(threads);
    EXPECT_TRUE(same_bits(found.y, one.y) && same_bits(found.dx, one.dx)) << threads;
    EXPECT_TRUE(same_bits(found.de, one.de) && same_bits(found.dgate, one.dgate)) << threads;
  }
}

// Gates that are shut or wide open make e^-z overflow or vanish.
TEST(ValueEmbeddingKernel, IsFiniteForGatesFarFromZero) {
  const Sizes s{20, 4, 2, 4, 12, 12};
  const auto found = by_kernel<float>(s, 1000);
  for (const auto& values : {found.y, found.dx, found.de, found.dgate}) {
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
  EXPECT_LE(relative_error(found.y, by_reference(s, 1000).y), 1e-5);
}

TEST(ValueEmbeddingKernel, AddsToGradientsAndSkipsThem) {
  const Sizes s{40, 6, 2, 3, 7, 5};
  const auto once = by_kernel<double>(s);
  const auto added = run<double>(
      s, [](const ValueEmbedding<double>& p) { value_embedding_forward(p); },
      [&](ValueEmbedding<double> p) {
        std::fill_n(p.dx.data, s.rows * s.width, 7.0);
        std::fill_n(p.dgate.data, s.heads * s.channels, 7.0);
        p.dx.add = p.dgate.add = true;
        p.de = {};
        value_embedding_backward(p);
      });
  for (std::size_t i = 0; i < once.dx.size(); ++i) {
    ASSERT_NEAR(added.dx[i], 7 + once.dx[i], 1e-12);
  }
  for (std::size_t i = 0; i < once.dgate.size(); ++i) {
    ASSERT_NEAR(added.dgate[i], 7 + once.dgate[i], 1e-12);
  }
  EXPECT_TRUE(std::isnan(added.de.front())) << "nothing is written";
}

}  // namespace
}  // namespace dikkat::kernels::value_embedding_test
