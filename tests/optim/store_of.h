#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/simd/philox.h"
#include "autograd/tape/parameters.h"
#include "tests/support/throws.h"

namespace dikkat {

/// Numbers in (-scale, scale) that look random.
inline std::vector<double> some_numbers(index count, std::uint64_t seed, double scale = 1) {
  const RandomStream stream(seed, "numbers", 0);
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (index i = 0; i < count; ++i) {
    numbers[static_cast<std::size_t>(i)] = scale * (2 * stream.uniform(i) - 1);
  }
  return numbers;
}

/// Adds parameters whose sizes do not fill 64 bytes, and one that is several blocks of the kernels. Those with two dimensions decay.
inline void add_parameters(ParameterStore& store) {
  store.add("table", {257, 131}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.add("weight", {7, 3}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.add("bias", {33}, Init::normal(0.5), Decay::no, Role::vector);
  store.add("gain", {1}, Init::ones(), Decay::no, Role::vector);
}

/// Writes gradients as a backward pass does.
template <class T>
void write_gradient(ParameterStore::Entry& entry, const std::vector<double>& values) {
  std::transform(values.begin(), values.end(), static_cast<T*>(entry.gradient.data), [](double value) { return static_cast<T>(value); });
  entry.gradient.written = true;
}

template <class T>
std::vector<double> values_of(const T* slab, const ParameterStore::Entry& entry) {
  return {slab + entry.offset, slab + entry.offset + entry.size()};
}

}  // namespace dikkat
