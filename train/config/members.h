#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/base/error.h"
#include "train/config/schema.h"

// Conversions between members of the structs in config.h and the values of keys. This header is private to the schema.
namespace dikkat::schema {

template <class T>
struct IsDefaulted : std::false_type {};
template <class T>
struct IsDefaulted<Defaulted<T>> : std::true_type {
  using Value = T;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
constexpr Type type_of() {
  if constexpr (IsDefaulted<T>::value) {
    return type_of<typename IsDefaulted<T>::Value>();
  } else if constexpr (IsOptional<T>::value) {
    return type_of<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return Type::boolean;
  } else if constexpr (std::is_same_v<T, index>) {
    return Type::integer;
  } else if constexpr (std::is_same_v<T, double>) {
    return Type::number;
  } else if constexpr (std::is_same_v<T, std::string> || std::is_enum_v<T>) {
    return Type::text;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return Type::numbers;
  } else {
    static_assert(std::is_same_v<T, std::vector<std::string>>, "a key of a new type: extend Value");
    return Type::list;
  }
}

/// Returns the names of an enumeration; empty for other types.
template <class T>
constexpr std::span<const std::string_view> choices_of() {
  if constexpr (IsDefaulted<T>::value) {
    return choices_of<typename IsDefaulted<T>::Value>();
  } else if constexpr (IsOptional<T>::value) {
    return choices_of<typename T::value_type>();
  } else if constexpr (std::is_enum_v<T>) {
    return Names<T>::of;
  } else {
    return {};
  }
}

template <class T>
Value to_value(const T& member) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(member));
  } else {
    return member;
  }
}

template <class T>
T from_value(const Value& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto found = value_named<T>(std::get<std::string>(value));
    require(found.has_value(), "from_value: ", to_toml(value), " is not a name of the enumeration");
    return *found;
  } else {
    return std::get<T>(value);
  }
}

}  // namespace dikkat::schema
