#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "autograd/base/error.h"

namespace dikkat {

/// Element types. Every switch over them lists all, so a new one compiles only when every switch handles it (tests/must_not_compile).
/// Models are trained in f32, gradients are checked in f64, and token ids are i32.
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

/// Bytes of an element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return sizeof(float);
    case DType::f64: return sizeof(double);
    case DType::i32: return sizeof(std::int32_t);
  }
  return 0;
}

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
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: break;
  }
  fail(what, ": element type ", dtype, ", expected f32 or f64");
}

}  // namespace dikkat
