#include "autograd/base/philox.h"

#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "autograd/base/simd.h"

namespace dikkat {
namespace {

/// Words, each in the lower half of its lane. The upper halves are ignored.
typedef std::uint64_t Words __attribute__((vector_size(simd::kBytes)));
constexpr int kLanes = simd::kBytes / 8;

/// The 64-bit products of the lower halves. gcc 12 does not choose this instruction by itself, and warns about the form without a mask.
Words times(Words a, std::uint32_t factor) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(factor)));
#else
  return (a & 0xFFFFFFFF) * factor;
#endif
}

Words count_from(std::uint64_t first, std::uint64_t apart) {
  Words words;
  for (int lane = 0; lane < kLanes; ++lane) {
    words[lane] = first + static_cast<std::uint64_t>(lane) * apart;
  }
  return words;
}

/// The four words of a group, many groups at once.
struct Group {
  Words c0, c1, c2, c3;
};

Group draw(std::uint64_t key, std::uint64_t step, Words counter) {
  Words c0 = counter;
  Words c1 = counter >> 32;
  Words c2 = step - Words{};
  Words c3 = (step >> 32) - Words{};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
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
  return {c0, c1, c2, c3};
}

/// The lower halves of two vectors, interleaved.
Words in_turn(Words even, Words odd) { return (even & 0xFFFFFFFF) | odd << 32; }

}  // namespace

void RandomStream::groups(index first_group, std::uint32_t* words) const noexcept {
  for (int first = 0; first < kGroups; first += kLanes) {
    const Group g = draw(key_, step_, count_from(static_cast<std::uint64_t>(first_group + first), 1));
    const Words low = in_turn(g.c0, g.c1);
    const Words high = in_turn(g.c2, g.c3);
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t group[2] = {low[i], high[i]};
      std::memcpy(words + index{4} * (first + i), group, sizeof group);
    }
  }
}

void RandomStream::columns(index first_group, index apart, std::uint32_t* words) const noexcept {
  const auto step = static_cast<std::uint64_t>(apart);
  for (int first = 0; first < kGroups; first += 2 * kLanes) {
    const Words counter = count_from(static_cast<std::uint64_t>(first_group + first * apart), 2 * step);
    const Group even = draw(key_, step_, counter);
    const Group odd = draw(key_, step_, counter + step);
    const Words rows[4] = {in_turn(even.c0, odd.c0), in_turn(even.c1, odd.c1), in_turn(even.c2, odd.c2), in_turn(even.c3, odd.c3)};
    for (int word = 0; word < 4; ++word) {
      std::memcpy(words + index{kGroups} * word + first, &rows[word], sizeof rows[word]);
    }
  }
}

}  // namespace dikkat
