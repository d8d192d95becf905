#include "autograd/base/philox.h"

#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace dikkat {
namespace {

/// Eight words, each in the lower half of its lane; what is in the upper halves does not matter.
typedef std::uint64_t Words __attribute__((vector_size(64)));
constexpr int kLanes = 8;

/// The 64-bit products of the lower halves.
Words times(Words a, std::uint32_t factor) {
#if defined(__AVX512F__)  // gcc 12 does not find this instruction by itself, and warns about its form without a mask
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(factor)));
#else
  return (a & 0xFFFFFFFF) * factor;
#endif
}

}  // namespace

void RandomStream::groups(index first_group, std::uint32_t* words) const noexcept {
  for (int first = 0; first < kGroups; first += kLanes) {
    const std::uint64_t begin = static_cast<std::uint64_t>(first_group + first);
    const Words counter = begin + Words{0, 1, 2, 3, 4, 5, 6, 7};
    Words c0 = counter;
    Words c1 = counter >> 32;
    Words c2 = step_ - Words{};
    Words c3 = (step_ >> 32) - Words{};
    auto k0 = static_cast<std::uint32_t>(key_);
    auto k1 = static_cast<std::uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const Words p0 = times(c0, 0xD2511F53);
      const Words p1 = times(c2, 0xCD9E8D57);
      c0 = (p1 >> 32) ^ c1 ^ std::uint64_t{k0};
      c1 = p1;
      c2 = (p0 >> 32) ^ c3 ^ std::uint64_t{k1};
      c3 = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    const Words low = (c0 & 0xFFFFFFFF) | c1 << 32;  // words 0 and 1 of each group
    const Words high = (c2 & 0xFFFFFFFF) | c3 << 32;
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t group[2] = {low[i], high[i]};
      std::memcpy(words + 4 * (first + i), group, sizeof group);
    }
  }
}

}  // namespace dikkat
