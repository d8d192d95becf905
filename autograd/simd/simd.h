#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
// The library's own kernels use intrinsics. Their header takes long to compile, and a program's formulas do without it.
#if defined(DIKKAT_LIBRARY) && defined(__AVX2__)
#define DIKKAT_INTRINSICS
#include <immintrin.h>
#elif defined(DIKKAT_LIBRARY) && defined(__aarch64__)
#define DIKKAT_NEON
#include <arm_neon.h>
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define DIKKAT_BFMMLA
#endif
#elif defined(__SSE2__) && !defined(__AVX2__)
#define DIKKAT_SSE2_INTRINSICS
#include <emmintrin.h>
#endif

#include "autograd/base/bf16.h"
#include "autograd/base/compiled_for.h"
#include "autograd/base/index.h"

namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

/// Bytes of a vector: those of a register. gcc copies wider types through memory, which can make a loop twenty times slower. Those of AVX
/// without AVX2 have 32 bytes for floats only, so half of them is used.
#if defined(__AVX512F__)
inline constexpr int kBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kBytes = 32;
#else
inline constexpr int kBytes = 16;
#endif
/// Vector registers.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif
/// Whether a multiply-add is rounded once. Without such an instruction it is rounded twice.
#if defined(__SSE2__) && !defined(__FMA__)
inline constexpr bool kFusesMultiplyAdds = false;
#else
inline constexpr bool kFusesMultiplyAdds = true;
#endif

template <class T>
struct VecOf;
template <>
struct VecOf<float> {
  typedef float type __attribute__((vector_size(kBytes)));
  typedef std::int32_t integer __attribute__((vector_size(kBytes)));
};
template <>
struct VecOf<double> {
  typedef double type __attribute__((vector_size(kBytes)));
  typedef std::int64_t integer __attribute__((vector_size(kBytes)));
};
template <>
struct VecOf<std::uint32_t> {
  typedef std::uint32_t type __attribute__((vector_size(kBytes)));
};

/// A vector register of T.
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
using IntVec = typename VecOf<T>::integer;
template <class T>
inline constexpr index kLanes = kBytes / static_cast<index>(sizeof(T));

template <class T>
inline Vec<T> load(const T* from) {
  Vec<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
inline void store(T* to, Vec<T> v) {
  std::memcpy(to, &v, sizeof v);
}
template <class T>
inline Vec<T> broadcast(T value) {
  return value - Vec<T>{};
}
/// The lanes of a vector that are used: all of them, or the first few at the end of an array.
struct Whole {};
struct Part {
  index count;
};

template <class T>
inline Vec<T> load(const T* from, Whole, T = T{}) {
  return load(from);
}
/// Loads a vector, whose lanes past the end are `rest`.
template <class T>
inline Vec<T> load(const T* from, Part part, T rest = T{}) {
  Vec<T> v = broadcast(rest);
  std::memcpy(&v, from, static_cast<std::size_t>(part.count) * sizeof(T));
  return v;
}
template <class T>
inline void store(T* to, Vec<T> v, Whole) {
  store(to, v);
}
template <class T>
inline void store(T* to, Vec<T> v, Part part) {
  std::memcpy(to, &v, static_cast<std::size_t>(part.count) * sizeof(T));
}

typedef std::uint16_t HalfWords __attribute__((vector_size(kBytes / 2)));
/// Returns bf16 as f32.
inline Vec<float> widened_bf16(HalfWords halves) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)  // gcc 12 converts halves of the vector
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, _mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(halves)), 16));
#else
  return reinterpret_cast<Vec<float>>(__builtin_convertvector(halves, Vec<std::uint32_t>) << 16);
#endif
}

/// Loads, or stores, numbers that are bf16 in memory: they are rounded when they are stored. Lanes past the end are loaded as `rest`,
/// rounded.
inline Vec<float> load_bf16(const bf16* from, index count = kLanes<float>, float rest = 0) {
  HalfWords halves = to_bf16(rest).bits - HalfWords{};
  std::memcpy(&halves, from, static_cast<std::size_t>(count) * sizeof(bf16));
  return widened_bf16(halves);
}
inline void store_bf16(bf16* to, Vec<float> v, index count = kLanes<float>) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512BF16__)
  const auto rounded = _mm512_cvtneps_pbh(v);
#else
  const auto rounded = __builtin_convertvector(rounded_to_bf16(reinterpret_cast<Vec<std::uint32_t>>(v)) >> 16, HalfWords);
#endif
  std::memcpy(to, &rounded, static_cast<std::size_t>(count) * sizeof(bf16));
}

/// Loads numbers that are IEEE binary16 in memory, exactly.
inline Vec<float> load_f16(const std::uint16_t* from) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(DIKKAT_INTRINSICS) && defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#elif defined(DIKKAT_NEON)
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
#else
  typedef std::uint16_t Halves __attribute__((vector_size(kBytes / 2)));
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const auto bits = __builtin_convertvector(halves, IntVec<float>);
  const IntVec<float> magnitude = bits & 0x7FFF;
  const IntVec<float> moved = (magnitude << 13) + (112 << 23);  // the exponents' biases are 15 and 127
  const IntVec<float> normal = magnitude >= 0x7C00 ? moved + (112 << 23) : moved;
  const Vec<float> small = __builtin_convertvector(magnitude, Vec<float>) * 0x1p-24F;  // denormal
  return reinterpret_cast<Vec<float>>((magnitude < 0x0400 ? reinterpret_cast<IntVec<float>>(small) : normal) | (bits & 0x8000) << 16);
#endif
}

/// Each lane of a and b holds two 16-bit integers. Returns c plus both products of each lane. Exact.
inline IntVec<float> multiply_add_pairs(IntVec<float> a, IntVec<float> b, IntVec<float> c) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512VNNI__)
  return reinterpret_cast<IntVec<float>>(
      _mm512_dpwssd_epi32(reinterpret_cast<__m512i>(c), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(DIKKAT_INTRINSICS) && defined(__AVX512BW__)
  return c + reinterpret_cast<IntVec<float>>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(DIKKAT_INTRINSICS) && defined(__AVX2__)
  return c + reinterpret_cast<IntVec<float>>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(DIKKAT_SSE2_INTRINSICS)
  return c + reinterpret_cast<IntVec<float>>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#elif defined(DIKKAT_NEON)
  const auto x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
  return c + vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
#else
  return c + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

inline Vec<float> to_floats(IntVec<float> integers) { return __builtin_convertvector(integers, Vec<float>); }

/// Returns |v| in each lane, or the sign bits.
inline Vec<float> magnitude(Vec<float> v) { return reinterpret_cast<Vec<float>>(reinterpret_cast<IntVec<float>>(v) & 0x7FFF'FFFF); }
inline IntVec<float> sign_bits(Vec<float> v) { return reinterpret_cast<IntVec<float>>(v) & std::numeric_limits<std::int32_t>::min(); }
/// Returns 0 or -0 in each lane, as v's sign is.
template <class T>
inline Vec<T> sign_of(Vec<T> v) {
  using Int = std::remove_cvref_t<decltype(IntVec<T>{}[0])>;
  return reinterpret_cast<Vec<T>>(reinterpret_cast<IntVec<T>>(v) & std::numeric_limits<Int>::min());
}
/// Returns a derivative times a gradient or an inner derivative, as the chain rule has it. The product is 0 where one of them is 0, even if
/// the other is infinite or NaN. So nothing flows through a branch that is not taken. Other products have the bits of a * b.
template <class T>
inline Vec<T> chained(Vec<T> a, Vec<T> b) {
  const Vec<T> x = b == T(0) ? sign_of<T>(a) : a, y = a == T(0) ? sign_of<T>(b) : b;  // next to a 0, only a sign is left
  return x * y;
}

/// Returns v, with the sign bits that are set in `signs` flipped.
inline Vec<float> flip_signs(Vec<float> v, IntVec<float> signs) {
  return reinterpret_cast<Vec<float>>(reinterpret_cast<IntVec<float>>(v) ^ signs);
}

namespace detail {

/// Returns half of a vector: the first, or the second.
template <std::size_t which, class V, std::size_t... i>
inline auto half(V v, std::index_sequence<i...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(which * sizeof...(i) + i)...);
}
template <class V, std::size_t... i>
inline auto both_halves(V first, V second, std::index_sequence<i...>) {
  return __builtin_shufflevector(first, second, static_cast<int>(i)...);
}
template <class V>
inline bool any_bit(V v) {
  constexpr std::size_t n = sizeof(V) / sizeof(std::int32_t);
  if constexpr (n == 4) {
    return ((v[0] | v[2]) | (v[1] | v[3])) != 0;
  } else {
    using Indices = std::make_index_sequence<n / 2>;
    return any_bit(half<0>(v, Indices{}) | half<1>(v, Indices{}));
  }
}
using HalfOfTheFloats = std::make_index_sequence<static_cast<std::size_t>(kLanes<double>)>;

}  // namespace detail

/// Returns whether a comparison, whose lanes are 0 or -1, holds in some lane.
inline bool any(IntVec<float> lanes) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(lanes), reinterpret_cast<__m512i>(lanes)) != 0;
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(lanes)) != 0;
#elif defined(DIKKAT_SSE2_INTRINSICS)
  return _mm_movemask_ps(reinterpret_cast<__m128>(lanes)) != 0;
#elif defined(DIKKAT_NEON)
  return vmaxvq_u32(vreinterpretq_u32_s32(lanes)) != 0;
#else
  return detail::any_bit(lanes);
#endif
}

/// The lanes as f64, in two vectors.
struct Widened {
  Vec<double> lower, upper;
};
inline Widened widened(Vec<float> v) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  const __m256d lower = _mm512_maskz_extractf64x4_pd(0xFF, _mm512_castps_pd(v), 0);
  const __m256d upper = _mm512_maskz_extractf64x4_pd(0xFF, _mm512_castps_pd(v), 1);
  return {_mm512_maskz_cvtps_pd(0xFF, _mm256_castpd_ps(lower)), _mm512_maskz_cvtps_pd(0xFF, _mm256_castpd_ps(upper))};
#elif defined(DIKKAT_INTRINSICS)
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))};
#elif defined(DIKKAT_SSE2_INTRINSICS)
  return {_mm_cvtps_pd(v), _mm_cvtps_pd(_mm_movehl_ps(v, v))};
#else
  return {__builtin_convertvector(detail::half<0>(v, detail::HalfOfTheFloats{}), Vec<double>),
          __builtin_convertvector(detail::half<1>(v, detail::HalfOfTheFloats{}), Vec<double>)};
#endif
}
/// Returns the lanes of both as f32.
inline Vec<float> narrowed(Vec<double> lower, Vec<double> upper) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  const __m512d first = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_maskz_cvtpd_ps(0xFF, lower)));
  return _mm512_castpd_ps(_mm512_maskz_insertf64x4(0xFF, first, _mm256_castps_pd(_mm512_maskz_cvtpd_ps(0xFF, upper)), 1));
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lower)), _mm256_cvtpd_ps(upper), 1);
#elif defined(DIKKAT_SSE2_INTRINSICS)
  return _mm_movelh_ps(_mm_cvtpd_ps(lower), _mm_cvtpd_ps(upper));
#else
  typedef float Half __attribute__((vector_size(kBytes / 2)));
  return detail::both_halves(__builtin_convertvector(lower, Half), __builtin_convertvector(upper, Half),
                             std::make_index_sequence<static_cast<std::size_t>(kLanes<float>)>{});
#endif
}

/// Loads a vector of To from memory that holds From, and stores it back, with conversion where the types differ. Lanes past the end are
/// `rest`.
template <class To, class From, class Lanes>
inline Vec<To> load_as(const From* from, Lanes lanes, To rest = To{}) {
  index count = kLanes<To>;
  if constexpr (std::is_same_v<Lanes, Part>) {
    count = lanes.count;
  }
  if constexpr (std::is_same_v<From, To>) {
    return load(from, lanes, rest);
  } else if constexpr (std::is_same_v<From, bf16>) {
    return load_bf16(from, count, rest);
  } else if constexpr (2 * sizeof(From) == sizeof(To)) {  // f32 or i32 as f64
    typedef From Half __attribute__((vector_size(kBytes / 2)));
    Half half{};
    std::memcpy(&half, from, static_cast<std::size_t>(count) * sizeof(From));
    Vec<To> v = __builtin_convertvector(half, Vec<To>);
    for (index i = count; i < kLanes<To>; ++i) {
      v[i] = rest;
    }
    return v;
  } else {
    Vec<To> v = broadcast(rest);
    for (index i = 0; i < count; ++i) {
      v[i] = static_cast<To>(from[i]);
    }
    return v;
  }
}
template <class From, class To, class Lanes>
inline void store_as(To* to, Vec<From> v, Lanes lanes) {
  index count = kLanes<From>;
  if constexpr (std::is_same_v<Lanes, Part>) {
    count = lanes.count;
  }
  if constexpr (std::is_same_v<From, To>) {
    store(to, v, lanes);
  } else if constexpr (std::is_same_v<To, bf16>) {
    store_bf16(to, v, count);
  } else if constexpr (sizeof(From) == 2 * sizeof(To)) {  // f64 as f32 or i32
    typedef To Half __attribute__((vector_size(kBytes / 2)));
    const Half half = __builtin_convertvector(v, Half);
    std::memcpy(to, &half, static_cast<std::size_t>(count) * sizeof(To));
  } else {
    for (index i = 0; i < count; ++i) {
      to[i] = static_cast<To>(v[i]);
    }
  }
}

/// Returns the distance from a to b in elements. The arrays may be different ones. For prefetch().
template <class T>
inline index elements_between(const T* a, const T* b) {
  return static_cast<index>(reinterpret_cast<std::uintptr_t>(b) - reinterpret_cast<std::uintptr_t>(a)) / static_cast<index>(sizeof(T));
}

/// Prefetches the element that is `ahead` elements after `from` into a cache (2: L2). It may lie outside of the array.
template <int kCache, class T>
inline void prefetch(const T* from, index ahead) {
  const auto address = reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(ahead) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, kCache);  // NOLINT(performance-no-int-to-ptr)
}

namespace detail {

/// Returns the first half of the lanes plus the second half.
template <class V, std::size_t... i>
inline auto sum_of_halves(V v, std::index_sequence<i...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(i)...) + __builtin_shufflevector(v, v, static_cast<int>(sizeof...(i) + i)...);
}
template <class T, class V>
inline T sum_of_lanes(V v) {
  constexpr std::size_t n = sizeof(V) / sizeof(T);
  if constexpr (n == 4) {
    return (v[0] + v[2]) + (v[1] + v[3]);
  } else if constexpr (n == 2) {
    return v[0] + v[1];
  } else {
    return sum_of_lanes<T>(sum_of_halves(v, std::make_index_sequence<n / 2>{}));
  }
}

}  // namespace detail

/// Returns the sum of the lanes, always added in one order: halves are added until one lane is left.
template <class T>
inline T sum(Vec<T> v) {
  return detail::sum_of_lanes<T>(v);
}
/// Returns the larger, or the smaller, in each lane; b where one of them is NaN.
template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}
template <class T>
inline Vec<T> min(Vec<T> a, Vec<T> b) {
  return a < b ? a : b;
}
// gcc compiles the above to two instructions or more. Masked forms, because gcc warns about the others.
#if defined(DIKKAT_INTRINSICS) || defined(DIKKAT_SSE2_INTRINSICS)
template <>
inline Vec<float> max<float>(Vec<float> a, Vec<float> b) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xFFFF, a, b);
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_max_ps(a, b);
#else
  return _mm_max_ps(a, b);
#endif
}
template <>
inline Vec<float> min<float>(Vec<float> a, Vec<float> b) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xFFFF, a, b);
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_min_ps(a, b);
#else
  return _mm_min_ps(a, b);
#endif
}
template <>
inline Vec<double> max<double>(Vec<double> a, Vec<double> b) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_maskz_max_pd(0xFF, a, b);
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_max_pd(a, b);
#else
  return _mm_max_pd(a, b);
#endif
}
template <>
inline Vec<double> min<double>(Vec<double> a, Vec<double> b) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_maskz_min_pd(0xFF, a, b);
#elif defined(DIKKAT_INTRINSICS)
  return _mm256_min_pd(a, b);
#else
  return _mm_min_pd(a, b);
#endif
}
#endif
template <class T>
inline T max(Vec<T> v) {
  T lanes[kLanes<T>];
  std::memcpy(lanes, &v, sizeof v);
  for (index width = kLanes<T> / 2; width > 0; width /= 2) {
    for (index i = 0; i < width; ++i) {
      lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
    }
  }
  return lanes[0];
}

/// Returns a b + c in each lane. It is rounded once, but twice on x86 processors that cannot. A compiler may leave a plain expression
/// unfused: with sanitizers clang does.
inline Vec<float> fused_multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(DIKKAT_INTRINSICS) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(DIKKAT_NEON)
  return vfmaq_f32(c, a, b);
#elif defined(__SSE2__) && !defined(__FMA__)
  return a * b + c;
#else
  for (index i = 0; i < kLanes<float>; ++i) {
    c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  }
  return c;
#endif
}

// A word is a lane that holds two bf16. Words are integers: arithmetic on floats would flush those that look like denormal numbers.

/// Returns each lane's two numbers as bf16: `lower` in the lower half of the word.
inline Vec<std::uint32_t> bf16_words(Vec<float> lower, Vec<float> upper) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512BF16__) && defined(__AVX512BW__)
  typedef std::uint16_t Halves __attribute__((vector_size(kBytes)));
  const Halves both = reinterpret_cast<Halves>(_mm512_cvtne2ps_pbh(upper, lower));
  return reinterpret_cast<Vec<std::uint32_t>>(__builtin_shufflevector(both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8,
                                                                      24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
#else
  return rounded_to_bf16(reinterpret_cast<Vec<std::uint32_t>>(lower)) >> 16 |
         (rounded_to_bf16(reinterpret_cast<Vec<std::uint32_t>>(upper)) & 0xFFFF'0000U);
#endif
}

#if defined(DIKKAT_INTRINSICS) && defined(__AVX512BF16__)
/// Returns c plus both products of each lane's words, the upper halves' first. Each of the two additions is rounded once. Denormal numbers
/// are taken as zero. Two fused multiply-adds have the same bits while denormals are flushed (base/denormals.h).
inline Vec<float> multiply_add_words(Vec<std::uint32_t> a, Vec<std::uint32_t> b, Vec<float> c) {
  return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
#endif

/// Returns each lane rounded to bf16, as f32.
inline Vec<float> rounded_as_bf16(Vec<float> v) {
#if defined(DIKKAT_INTRINSICS) && defined(__AVX512BF16__)
  return widened_bf16(reinterpret_cast<HalfWords>(_mm512_cvtneps_pbh(v)));
#else
  return reinterpret_cast<Vec<float>>(rounded_to_bf16(reinterpret_cast<Vec<std::uint32_t>>(v)) & 0xFFFF'0000U);
#endif
}

/// Stores the first half of the lanes, and the second half.
template <class T>
inline void store_halves(T* first, T* second, Vec<T> v) {
  using Indices = std::make_index_sequence<static_cast<std::size_t>(kLanes<T> / 2)>;
  const auto lower = detail::half<0>(v, Indices{}), upper = detail::half<1>(v, Indices{});
  std::memcpy(first, &lower, sizeof lower);
  std::memcpy(second, &upper, sizeof upper);
}

/// Returns v with lanes 0 and 1 swapped, 2 and 3, and so on.
inline Vec<float> swapped_pairs(Vec<float> v) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return __builtin_shufflevector(v, v, static_cast<int>(i ^ 1)...);
  }(std::make_index_sequence<static_cast<std::size_t>(kLanes<float>)>{});
}

/// Calls f(at, lanes) for the vectors that cover elements begin to end; lanes is Whole for all but a ragged last one.
template <class T, class F>
inline void for_vectors(index begin, index end, F&& f) {
  index at = begin;
  for (; at + kLanes<T> <= end; at += kLanes<T>) {
    f(at, Whole{});
  }
  if (at < end) {
    f(at, Part{end - at});
  }
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
