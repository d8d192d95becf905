#include "autograd/simd/philox.h"

#include <cstring>
#include <utility>

#include "autograd/simd/simd.h"

namespace dikkat {
namespace {

/// Words, each in the lower half of its lane. The upper halves are ignored.
typedef std::uint64_t Words __attribute__((vector_size(simd::kBytes)));
constexpr int kLanes = simd::kBytes / 8;

/// Returns the 64-bit products of the lower halves. gcc 12 does not choose this instruction for a plain product, and warns about the form
/// without a mask.
Words times(Words a, std::uint32_t factor) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(factor)));
#elif defined(DIKKAT_SSE2_INTRINSICS)
  return reinterpret_cast<Words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), _mm_set1_epi64x(factor)));
#elif defined(DIKKAT_NEON)
  return vmull_u32(vmovn_u64(a), vdup_n_u32(factor));
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

/// The groups of two vectors of counters: the processor works on one while it waits for the other.
struct TwoGroups {
  Group of[2];
};
TwoGroups draw(std::uint64_t key, std::uint64_t step, Words first_counter, Words second_counter) {
  const auto begin = [&](Words counter) { return Group{counter, counter >> 32, step - Words{}, (step >> 32) - Words{}}; };
  TwoGroups groups{{begin(first_counter), begin(second_counter)}};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words key0 = std::uint64_t{k0} - Words{}, key1 = std::uint64_t{k1} - Words{};
    for (Group& g : groups.of) {
      const Words p0 = times(g.c0, 0xD2511F53);
      const Words p1 = times(g.c2, 0xCD9E8D57);
      g = {(p1 >> 32) ^ g.c1 ^ key0, p1, (p0 >> 32) ^ g.c3 ^ key1, p0};
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return groups;
}

/// Returns the lower halves of two vectors, interleaved.
Words in_turn(Words even, Words odd) { return (even & 0xFFFFFFFF) | odd << 32; }

/// Stores the lanes of two vectors in turn: a[0] b[0] a[1] b[1] ...
template <int... lane>
void store_in_turn(Words a, Words b, std::uint32_t* to, std::integer_sequence<int, lane...>) {
  const Words first = __builtin_shufflevector(a, b, (lane / 2 + lane % 2 * kLanes)...);
  const Words second = __builtin_shufflevector(a, b, ((kLanes + lane) / 2 + lane % 2 * kLanes)...);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + 2 * kLanes, &second, sizeof second);
}

}  // namespace

void RandomStream::groups(index first_group, std::uint32_t* words) const noexcept {
  for (int first = 0; first < kGroups; first += 2 * kLanes) {
    const Words counter = count_from(static_cast<std::uint64_t>(first_group + first), 1);
    const TwoGroups groups = draw(key_, step_, counter, counter + kLanes);
    for (const Group& g : groups.of) {
      store_in_turn(in_turn(g.c0, g.c1), in_turn(g.c2, g.c3), words, std::make_integer_sequence<int, kLanes>{});
      words += index{4} * kLanes;
    }
  }
}

void RandomStream::columns(index first_group, index apart, std::uint32_t* words) const noexcept {
  const auto step = static_cast<std::uint64_t>(apart);
  for (int first = 0; first < kGroups; first += 2 * kLanes) {
    const Words counter = count_from(static_cast<std::uint64_t>(first_group + first * apart), 2 * step);
    const auto [even, odd] = draw(key_, step_, counter, counter + step).of;
    const Words rows[4] = {in_turn(even.c0, odd.c0), in_turn(even.c1, odd.c1), in_turn(even.c2, odd.c2), in_turn(even.c3, odd.c3)};
    for (int word = 0; word < 4; ++word) {
      std::memcpy(words + index{kGroups} * word + first, &rows[word], sizeof rows[word]);
    }
  }
}

}  // namespace dikkat
