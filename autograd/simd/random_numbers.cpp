#include "autograd/simd/random_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"
#include "autograd/simd/sine.h"

namespace dikkat {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr index kWords = index{4} * RandomStream::kGroups;  // words that are drawn at a time

/// Calls make(words, numbers) for whole blocks of kWords numbers, whose borders do not depend on `first`.
template <class F>
void draw(const RandomStream& stream, index first, index n, float* numbers, F&& make) {
  std::uint32_t words[kWords];
  for (index at = 0; at < n;) {
    const index skipped = (first + at) % kWords, count = std::min(kWords - skipped, n - at);
    stream.groups((first + at - skipped) / 4, words);
    if (count == kWords) {
      make(words, numbers + at);
    } else {
      float whole[kWords];
      make(words, whole);
      std::copy_n(whole + skipped, count, numbers + at);
    }
    at += count;
  }
}

/// Two normal numbers in each lane, from two words. No product of this function is added to something, so compilers fuse nothing.
struct TwoNormals {
  Vec<float> even, odd;
};
TwoNormals normals_of(Vec<std::uint32_t> radius_word, Vec<std::uint32_t> angle_word) {
  constexpr float kMinusTwoLn2 = -2 * std::numbers::ln2_v<float>;
  const Vec<float> u = (simd::to_floats(reinterpret_cast<simd::IntVec<float>>(radius_word >> 1)) + 0.5F) * 0x1p-31F;
  Vec<float> radius = kMinusTwoLn2 * simd::log2_of_positive(u);
  for (index lane = 0; lane < kLanes<float>; ++lane) {  // compilers make one instruction of this loop
    radius[lane] = std::sqrt(radius[lane]);
  }
  const auto [sine, cosine] = simd::sine_and_cosine_of_turns(angle_word);
  return {radius * cosine, radius * sine};
}

/// Makes the numbers of kWords words: 2i and 2i + 1 from words 2i and 2i + 1.
void make_normals(const std::uint32_t* words, float* numbers) {
  constexpr index kPairs = kWords / 2;
  std::uint32_t radius_words[kPairs], angle_words[kPairs];
  float even[kPairs], odd[kPairs];
  for (index i = 0; i < kPairs; ++i) {
    radius_words[i] = words[2 * i];
    angle_words[i] = words[2 * i + 1];
  }
  for (index i = 0; i < kPairs; i += kLanes<float>) {
    const TwoNormals two = normals_of(simd::load(radius_words + i), simd::load(angle_words + i));
    simd::store(even + i, two.even);
    simd::store(odd + i, two.odd);
  }
  for (index i = 0; i < kPairs; ++i) {
    numbers[2 * i] = even[i];
    numbers[2 * i + 1] = odd[i];
  }
}

}  // namespace

void uniform_numbers(const RandomStream& stream, index first, index n, float* numbers) noexcept {
  draw(stream, first, n, numbers, [](const std::uint32_t* words, float* whole) {
    for (index i = 0; i < kWords; ++i) {
      whole[i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8)) * 0x1p-24F;
    }
  });
}

void normal_numbers(const RandomStream& stream, index first, index n, float* numbers) noexcept {
  draw(stream, first, n, numbers, make_normals);
}

}  // namespace dikkat
