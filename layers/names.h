#pragma once

#include <cstddef>
#include <string_view>

namespace dikkat {

/// The names of an enumeration's values in configurations, `of`, in the order of the enumerators. Specialised beside each enumeration.
template <class E>
struct Names;

template <class E>
constexpr std::string_view name_of(E value) {
  return Names<E>::of[static_cast<std::size_t>(value)];
}

}  // namespace dikkat
