#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "autograd/base/bf16.h"
#include "autograd/base/error.h"

namespace dikkat {

/// Element types. Every switch over them lists all, so a new one compiles only when every switch handles it (tests/must_not_compile).
/// Models are trained in f32, or in f32 with bf16 where matrix products read; gradients are checked in f64. Ids, such as tokens, classes
/// and indices, are i32, and have no gradient.
enum class DType : std::uint8_t { f32, f64, i32, bf16 };

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
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <class T>
inline constexpr DType kDType = DTypeOf<T>::value;

/// Returns the bytes of an element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return sizeof(float);
    case DType::f64: return sizeof(double);
    case DType::i32: return sizeof(std::int32_t);
    case DType::bf16: return sizeof(bf16);
  }
  return 0;
}

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
    case DType::bf16: return "bf16";
  }
  return "?";
}

inline void append_to(std::string& out, DType dtype) { out += name_of(dtype); }

/// Calls f(float{}) or f(double{}); `what` names the caller in the error for any other type.
template <class F>
auto for_float(DType dtype, const char* what, F&& f, const char* expected = "f32 or f64") {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32:
    case DType::bf16: break;
  }
  fail(what, ": element type ", dtype, ", expected ", expected, "; cast(x, DType::f32) changes it");
}
/// Does what for_float() does, and calls f(bf16{}) for bf16. f then computes in Computed<T> with numbers stored as T.
template <class F>
auto for_stored(DType dtype, const char* what, F&& f) {
  return dtype == DType::bf16 ? f(bf16{}) : for_float(dtype, what, f, "f32, f64 or bf16");
}
/// Does what for_stored() does, and calls f(std::int32_t{}) for ids. Use it to move, compare or choose elements of any type.
template <class F>
auto for_element(DType dtype, const char* what, F&& f) {
  return dtype == DType::i32 ? f(std::int32_t{}) : for_stored(dtype, what, f);
}

}  // namespace dikkat
