#include "autograd/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::IntVec;
using simd::kLanes;
using simd::Vec;

constexpr index kWords = index{4} * RandomStream::kGroups;  // words that are drawn at a time
constexpr index kTile = 1 << 12;                            // numbers: enough to be worth a task

/// Draws numbers in blocks of kWords words, whose borders do not depend on the drawing. make(words, numbers) makes the numbers of one
/// block, `words_of_one` words each.
template <class T, class F>
void draw(const Drawing& drawing, index words_of_one, T* y, F&& make) {
  using C = Computed<T>;
  const index in_block = kWords / words_of_one;
  parallel_blocks(drawing.n, kTile, Work::elements(drawing.n), [&](index begin, index end) {
    std::uint32_t words[kWords];
    C numbers[kWords];
    for (index at = begin; at < end;) {
      const index number = drawing.first + at, skipped = number % in_block;
      drawing.stream.groups((number - skipped) * words_of_one / 4, words);
      make(words, numbers);
      const index count = std::min(in_block - skipped, end - at);
      for (index i = 0; i < count; ++i) {
        y[at + i] = to_stored<T>(numbers[skipped + i]);
      }
      at += count;
    }
  });
}

/// Returns the largest number that is less than x.
float before(float x) { return std::nextafter(x, -std::numeric_limits<float>::infinity()); }
double before(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }
bf16 before(bf16 x) {
  const bool is_negative = (x.bits & 0x8000) != 0, is_zero = (x.bits & 0x7FFF) == 0;
  return {static_cast<std::uint16_t>(is_zero ? 0x8080 : is_negative ? x.bits + 1 : x.bits - 1)};  // denormal numbers are zero
}

/// Returns a uniform number in [0, 1) with 53 random bits, as RandomStream::uniform() does.
double uniform_of(const std::uint32_t* two_words) {
  return static_cast<double>((std::uint64_t{two_words[0]} << 32 | two_words[1]) >> 11) * 0x1p-53;
}

/// Two normal numbers in each lane, from two words.
struct TwoNormals {
  Vec<float> even, odd;
};
TwoNormals normals_of(Vec<std::uint32_t> radius_word, Vec<std::uint32_t> angle_word) {
  // The radius is sqrt(-2 ln u), for u above 0 and up to 1.
  constexpr float kMinusTwoLn2 = -2 * std::numbers::ln2_v<float>;
  const Vec<float> u = (simd::to_floats(reinterpret_cast<IntVec<float>>(radius_word >> 1)) + 0.5F) * 0x1p-31F;
  Vec<float> radius = kMinusTwoLn2 * simd::log2_of_positive(u);
  for (index lane = 0; lane < kLanes<float>; ++lane) {  // compilers make one instruction of this loop
    radius[lane] = std::sqrt(radius[lane]);
  }
  // The angle is a quarter number, 0 to 3, plus a rest of at most an eighth of a turn. sin and cos of the rest are Cephes' polynomials
  // (sinf.c), with errors below 1 ulp.
  const Vec<std::uint32_t> quarter = (angle_word + 0x2000'0000U) >> 30;
  const auto rest = reinterpret_cast<IntVec<float>>(angle_word - (quarter << 30));
  const Vec<float> a = simd::to_floats(rest) * (2 * std::numbers::pi_v<float> * 0x1p-32F);
  const Vec<float> z = a * a;
  const Vec<float> sin = a + a * z * (-1.6666654611e-1F + z * (8.3321608736e-3F - z * 1.9515295891e-4F));
  const Vec<float> cos = 1.0F - 0.5F * z + z * z * (4.166664568298827e-2F + z * (-1.388731625493765e-3F + z * 2.443315711809948e-5F));
  const auto is_odd = (quarter & 1U) != 0U;
  const Vec<float> x = is_odd ? sin : cos, y = is_odd ? cos : sin;
  const auto left = ((quarter + 1U) & 2U) != 0U, below = (quarter & 2U) != 0U;
  return {radius * (left ? -x : x), radius * (below ? -y : y)};
}

/// Makes the numbers of kWords words: 2i and 2i + 1 from words 2i and 2i + 1.
void make_normals(const std::uint32_t* words, float* numbers) {
  constexpr index kPairs = kWords / 2;
  std::uint32_t radius_words[kPairs], angle_words[kPairs];
  float even[kPairs], odd[kPairs];
  for (index i = 0; i < kPairs; ++i) {
    radius_words[i] = words[2 * i];
    angle_words[i] = words[2 * i + 1];
  }
  for (index i = 0; i < kPairs; i += kLanes<float>) {
    const TwoNormals two = normals_of(simd::load(radius_words + i), simd::load(angle_words + i));
    simd::store(even + i, two.even);
    simd::store(odd + i, two.odd);
  }
  for (index i = 0; i < kPairs; ++i) {
    numbers[2 * i] = even[i];
    numbers[2 * i + 1] = odd[i];
  }
}
/// Makes numbers 2i and 2i + 1 from words 4i to 4i + 3, by the C library.
void make_normals(const std::uint32_t* words, double* numbers) {
  for (index i = 0; i < kWords / 2; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform_of(words + 2 * i)));
    const double angle = 2 * std::numbers::pi * uniform_of(words + 2 * i + 2);
    numbers[i] = radius * std::cos(angle);
    numbers[i + 1] = radius * std::sin(angle);
  }
}

template <class C>
constexpr index kWordsOfOne = std::is_same_v<C, double> ? 2 : 1;

/// Returns the threshold that a word is below with the probability p.
double threshold(double p) { return p * 0x1p32; }

}  // namespace

template <class T>
void draw_uniform(const Drawing& drawing, Computed<T> low, Computed<T> high, T* y) {
  using C = Computed<T>;
  const C last = to_computed(before(to_stored<T>(high)));
  draw(drawing, kWordsOfOne<C>, y, [&](const std::uint32_t* words, C* numbers) {
    for (index i = 0; i < kWords / kWordsOfOne<C>; ++i) {
      C u{};
      if constexpr (std::is_same_v<C, double>) {
        u = uniform_of(words + 2 * i);
      } else {
        u = static_cast<C>(static_cast<std::int32_t>(words[i] >> 8)) * C{0x1p-24};
      }
      const C number = low + (high - low) * u;
      numbers[i] = number < last ? number : last;  // the sum may have been rounded to `high`
    }
  });
}

template <class T>
void draw_normal(const Drawing& drawing, Computed<T> mean, Computed<T> std, T* y) {
  using C = Computed<T>;
  draw(drawing, kWordsOfOne<C>, y, [&](const std::uint32_t* words, C* numbers) {
    make_normals(words, numbers);
    for (index i = 0; i < kWords / kWordsOfOne<C>; ++i) {
      numbers[i] = mean + std * numbers[i];
    }
  });
}

template <class T>
void draw_bernoulli(const Drawing& drawing, double p, T* y) {
  using C = Computed<T>;
  const double bound = threshold(p);
  draw(drawing, 1, y, [&](const std::uint32_t* words, C* numbers) {
    for (index i = 0; i < kWords; ++i) {
      numbers[i] = static_cast<double>(words[i]) < bound ? C{1} : C{0};
    }
  });
}

template <class T>
void draw_bernoulli(const Drawing& drawing, const T* p, T* y) {
  parallel_blocks(drawing.n, kTile, [&](index begin, index end) {
    std::uint32_t words[kWords];
    for (index at = begin; at < end;) {
      const index number = drawing.first + at, skipped = number % kWords;
      drawing.stream.groups((number - skipped) / 4, words);
      const index count = std::min(kWords - skipped, end - at);
      for (index i = 0; i < count; ++i) {
        const double bound = threshold(static_cast<double>(to_computed(p[at + i])));
        y[at + i] = to_stored<T>(static_cast<double>(words[skipped + i]) < bound ? 1 : 0);
      }
      at += count;
    }
  });
}

namespace {

constexpr index kBlock = 64;  // classes whose weights are summed before the sum is added to that of the classes before

/// Computes the weights of `count` classes and returns their sum; -1 if one of them is negative or NaN.
template <class T>
double make_weights(index count, const T* x, bool logits, Computed<T> top, Computed<T>* weights) {
  using C = Computed<T>;
  const C of_no_class = logits ? -std::numeric_limits<C>::infinity() : C{};
  Vec<C> sum{}, least{};
  simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
    const Vec<C> v = simd::load_as<C>(x + at, lanes, of_no_class);
    const Vec<C> weight = logits ? simd::exp(v - top) : v;
    simd::store(weights + at, weight);
    sum += weight;
    least = simd::min<C>(weight, least);
  });
  C each[kLanes<C>];
  simd::store(each, least);
  const bool any_negative = std::any_of(each, each + kLanes<C>, [](C weight) { return weight < 0; });
  const auto total = static_cast<double>(simd::sum<C>(sum));
  return total >= 0 && !any_negative ? total : -1;  // not so for NaN
}

/// Returns the class that u, from 0 to 1, chooses; -1 if the weights are not right. `sums` has room for a number per block.
template <class T>
std::int32_t class_of(const Categorical<T>& p, const T* x, double u, double* sums) {
  using C = Computed<T>;
  C weights[kBlock];  // whole vectors
  // With logits, e^(x - top) are weights between 0 and 1.
  C top = -std::numeric_limits<C>::infinity();
  if (p.logits) {
    Vec<C> tops = simd::broadcast(top);
    simd::for_vectors<C>(0, p.classes, [&](index at, auto lanes) { tops = simd::max<C>(simd::load_as<C>(x + at, lanes, top), tops); });
    top = simd::max<C>(tops);  // largest number: NaN is found with the weights
    if (!(std::abs(top) <= std::numeric_limits<C>::max())) {
      return -1;
    }
  }
  // Sum the weights by blocks.
  double total = 0;
  for (index first = 0; first < p.classes; first += kBlock) {
    const double sum = make_weights(std::min(kBlock, p.classes - first), x + first, p.logits, top, weights);
    if (sum < 0) {
      return -1;
    }
    total += sum;
    sums[first / kBlock] = total;
  }
  if (!(total > 0 && total <= std::numeric_limits<double>::max())) {
    return -1;
  }
  // Find the block in which the sum is more than u times the total, and then the class.
  const double bound = u * total;
  const index blocks = ceil_div(p.classes, kBlock);
  const index block = std::upper_bound(sums, sums + blocks, bound) - sums;
  const index first = block * kBlock, count = std::min(kBlock, p.classes - first);
  make_weights(count, x + first, p.logits, top, weights);
  double sum = block == 0 ? 0 : sums[block - 1];
  index last = 0;  // the last class that is possible: the sum of the block may have been rounded up
  for (index i = 0; i < count; ++i) {
    last = weights[i] > 0 ? i : last;
    sum += static_cast<double>(weights[i]);
    if (sum > bound) {
      break;
    }
  }
  return static_cast<std::int32_t>(first + last);
}

}  // namespace

template <class T>
void draw_categorical(const Categorical<T>& p) {
  const index rows = p.drawing.n, blocks = ceil_div(p.classes, kBlock);
  const index in_tile = std::max<index>(1, kTile / std::max<index>(p.classes, 1));
  parallel_for(
      ceil_div(rows, in_tile), Work::elements(rows * p.classes), [&] { const Scratch<double> sums(blocks); },
      [&](index tile) {
        const Scratch<double> sums(blocks);
        for (index row = tile * in_tile; row < std::min(rows, (tile + 1) * in_tile); ++row) {
          p.y[row] = class_of(p, p.x + row * p.classes, p.drawing.stream.uniform(p.drawing.first + row), sums);
        }
      });
}

void draw_permutation(index n, const RandomStream& stream, std::int32_t* y) {
  parallel_for(1, Work::elements(n), [&](index) {
    std::uint32_t words[kWords];
    index taken = 0;
    const auto next = [&] {
      if (taken % kWords == 0) {
        stream.groups(taken / 4, words);
      }
      return words[taken++ % kWords];
    };
    std::iota(y, y + n, 0);
    for (index left = n; left > 1; --left) {
      // word * left / 2^32 is below `left`. Products whose lower half is too small are refused, so that each number has equally many words.
      const auto bound = static_cast<std::uint32_t>(left);
      std::uint64_t product = std::uint64_t{next()} * bound;
      if (static_cast<std::uint32_t>(product) < bound) {
        const std::uint32_t least = (0U - bound) % bound;
        while (static_cast<std::uint32_t>(product) < least) {
          product = std::uint64_t{next()} * bound;
        }
      }
      std::swap(y[left - 1], y[product >> 32]);
    }
  });
}

#define DIKKAT_INSTANTIATE(T)                                               \
  template void draw_uniform(const Drawing&, Computed<T>, Computed<T>, T*); \
  template void draw_normal(const Drawing&, Computed<T>, Computed<T>, T*);  \
  template void draw_bernoulli(const Drawing&, double, T*);                 \
  template void draw_bernoulli(const Drawing&, const T*, T*);               \
  template void draw_categorical(const Categorical<T>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
