#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "autograd/base/error.h"

namespace dikkat {

/// Element types. f32 is trained, f64 is what gradients are checked in, i32 holds token ids.
enum class DType : std::uint8_t { f32, f64, i32 };

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <class T>
inline constexpr DType kDType = DTypeOf<T>::value;

constexpr std::size_t size_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
  }
  return "?";
}

inline void append_to(std::string& out, DType dtype) { out += name_of(dtype); }

/// Calls f(float{}) or f(double{}); `what` names the caller in the error for any other type.
template <class F>
auto for_float(DType dtype, const char* what, F&& f) {
  require(dtype != DType::i32, what, ": element type i32, expected f32 or f64");
  return dtype == DType::f32 ? f(float{}) : f(double{});
}

}  // namespace dikkat
