#pragma once

#include <optional>
#include <type_traits>

#include "autograd/base/error.h"

namespace dikkat {

/// A value whose default follows from other values. It is open at first. Assignment sets it; derive() computes it, unless it was set. So a
/// value that was not set can be derived again when the others change.
template <class T>
class Defaulted {
 public:
  constexpr Defaulted() = default;
  constexpr Defaulted(T value) : value_(value), is_set_(true) {}  // NOLINT(google-explicit-constructor): assignment sets

  /// Returns whether the value was given, not derived.
  constexpr bool is_set() const { return is_set_; }
  /// Returns whether the value is still missing.
  constexpr bool is_open() const { return !value_.has_value(); }
  /// Makes this the value, unless it was set.
  void derive(T value) {
    if (!is_set_) {
      value_ = value;
    }
  }

  /// Both throw Error while it is open.
  operator T() const { return **this; }  // NOLINT(google-explicit-constructor): used like the value
  T operator*() const {
    require(value_.has_value(), "a default that follows from other values was read before it was computed; see with_defaults()");
    return *value_;
  }

  friend constexpr bool operator==(const Defaulted&, const Defaulted&) = default;
  template <class U>
    requires(!std::is_same_v<U, Defaulted>)
  friend constexpr bool operator==(const Defaulted& a, const U& b) {
    return a.value_ == b;
  }

 private:
  std::optional<T> value_;
  bool is_set_ = false;
};

}  // namespace dikkat
