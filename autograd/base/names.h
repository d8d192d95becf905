#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace dikkat {

/// The names of an enumeration's values in configurations, `of`, in the order of the enumerators. Specialized next to each enumeration.
template <class E>
struct Names;

template <class E>
constexpr std::string_view name_of(E value) {
  return Names<E>::of[static_cast<std::size_t>(value)];
}

/// Returns the value with this name; nullopt where there is none.
template <class E>
constexpr std::optional<E> value_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(Names<E>::of); ++i) {
    if (Names<E>::of[i] == name) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

/// Returns all names for messages, such as "gpt, encoder_decoder".
template <class E>
std::string all_names() {
  std::string text;
  for (const std::string_view name : Names<E>::of) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

}  // namespace dikkat
