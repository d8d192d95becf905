#include "autograd/kernels/dropout.h"

#include <algorithm>

#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

/// Returns x where all bits of the mask are set, 0 where none is, even if x is NaN.
template <class T>
simd::Vec<T> masked(simd::Vec<T> x, const std::int32_t* mask) {
  simd::IntVec<T> bits;
  std::memcpy(&bits, &x, sizeof bits);
  for (index lane = 0; lane < simd::kLanes<T>; ++lane) {
    bits[lane] &= mask[lane];
  }
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}
template <>
simd::Vec<float> masked<float>(simd::Vec<float> x, const std::int32_t* mask) {
  simd::IntVec<float> bits, kept;
  std::memcpy(&bits, &x, sizeof bits);
  std::memcpy(&kept, mask, sizeof kept);
  bits &= kept;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

}  // namespace

template <class X, class Y>
void drop(const Dropping& dropping, index begin, index end, const X* x, GradOut<Y> y) noexcept {
  using T = Computed<Y>;
  const auto put = [&](index at, simd::Vec<T> value, auto lanes) {
    simd::store_as<T>(y.data + at, y.add ? simd::load_as<T>(y.data + at, lanes) + value : value, lanes);
  };
  if (dropping.probability == 0) {
    simd::for_vectors<T>(begin, end, [&](index at, auto lanes) { put(at, simd::load_as<T>(x + at, lanes), lanes); });
    return;
  }
  constexpr index kWords = index{4} * RandomStream::kGroups;
  const auto threshold = static_cast<std::uint32_t>(dropout_threshold(dropping.probability));
  const T factor = static_cast<T>(1 / (1 - dropping.probability));
  std::uint32_t words[kWords];
  std::int32_t kept[kWords + simd::kLanes<T>] = {};  // room for a whole vector at the end
  for (index at = begin; at < end;) {
    const index element = dropping.first + at;
    const index skipped = element % 4;
    dropping.stream.groups(element / 4, words);
    for (index i = 0; i < kWords; ++i) {
      kept[i] = words[i] < threshold ? 0 : -1;
    }
    const index count = std::min(kWords - skipped, end - at);
    simd::for_vectors<T>(0, count, [&](index i, auto lanes) {
      put(at + i, masked<T>(simd::load_as<T>(x + at + i, lanes) * factor, kept + skipped + i), lanes);
    });
    at += count;
  }
}

template void drop(const Dropping&, index, index, const float*, GradOut<float>) noexcept;
template void drop(const Dropping&, index, index, const double*, GradOut<double>) noexcept;
template void drop(const Dropping&, index, index, const bf16*, GradOut<float>) noexcept;
template void drop(const Dropping&, index, index, const float*, GradOut<bf16>) noexcept;
template void drop(const Dropping&, index, index, const bf16*, GradOut<bf16>) noexcept;

}  // namespace dikkat::kernels
