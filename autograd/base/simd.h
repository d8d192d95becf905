#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "autograd/base/index.h"

namespace dikkat::simd {

template <class T>
struct VecOf;
template <>
struct VecOf<float> {
  typedef float type __attribute__((vector_size(64)));
  typedef std::int32_t integer __attribute__((vector_size(64)));
};
template <>
struct VecOf<double> {
  typedef double type __attribute__((vector_size(64)));
  typedef std::int64_t integer __attribute__((vector_size(64)));
};
template <>
struct VecOf<std::uint32_t> {
  typedef std::uint32_t type __attribute__((vector_size(64)));
};

/// 64 bytes of T in one register (two or four on narrower machines, with the same results lane by lane).
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
using IntVec = typename VecOf<T>::integer;
template <class T>
inline constexpr index kLanes = 64 / static_cast<index>(sizeof(T));

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
/// Which lanes of a vector count: all of them, or the first few at the end of an array.
struct Whole {};
struct Part {
  index count;
};

template <class T>
inline Vec<T> load(const T* from, Whole, T = T{}) {
  return load(from);
}
/// The lanes past the end are `rest`.
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

/// Sum of the lanes, always by the same tree.
template <class T>
inline T sum(Vec<T> v) {
  T lanes[kLanes<T>];
  std::memcpy(lanes, &v, sizeof v);
  for (index width = kLanes<T> / 2; width > 0; width /= 2) {
    for (index i = 0; i < width; ++i) {
      lanes[i] += lanes[i + width];
    }
  }
  return lanes[0];
}
template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}
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

}  // namespace dikkat::simd
