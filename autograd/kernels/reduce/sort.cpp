#include "autograd/kernels/reduce/sort.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstring>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"

namespace dikkat::kernels {
namespace {

constexpr index kTile = 1 << 12;       // elements: enough to be worth a task
constexpr index kLinesAtOnce = 16;     // adjacent lines share the lines of the cache that they are read from
constexpr index kMostItems = 1 << 17;  // items of the lines that are sorted at once: they fit into a cache, if one line does
constexpr index kBlock = 64;           // elements that are compared at once with a threshold
constexpr index kLeastForDigits = 40;  // elements: fewer are sorted faster by comparisons

/// An element as an integer, so that a smaller one is earlier in order, and its index. All items of a line differ.
template <class T>
struct ItemOf {
  using Bits = std::conditional_t<std::is_same_v<T, bf16>, std::uint16_t, std::uint32_t>;
  using type = std::uint64_t;  // key << 32 | index

  static type make(Bits key, index i) { return std::uint64_t{key} << 32 | static_cast<std::uint64_t>(i); }
  static Bits key_of(type item) { return static_cast<Bits>(item >> 32); }
  static std::int32_t index_of(type item) { return static_cast<std::int32_t>(item & 0xFFFF'FFFF); }
};
struct WideItem {
  std::uint64_t key;
  std::int64_t at;

  auto operator<=>(const WideItem&) const = default;
};
template <>
struct ItemOf<double> {
  using Bits = std::uint64_t;
  using type = WideItem;

  static type make(Bits key, index i) { return {key, i}; }
  static Bits key_of(type item) { return item.key; }
  static std::int32_t index_of(type item) { return static_cast<std::int32_t>(item.at); }
};
template <class T>
using Item = typename ItemOf<T>::type;
template <class T>
using Key = typename ItemOf<T>::Bits;

/// The bits of positive infinity.
template <class T>
constexpr auto kInfinity = static_cast<Key<T>>(std::is_same_v<T, bf16>    ? 0x7F80
                                               : std::is_same_v<T, float> ? 0x7F80'0000
                                                                          : 0x7FF0'0000'0000'0000);

/// Returns an integer that is smaller for an element that is earlier in order. It is an integer because arithmetic on floats would flush
/// denormal numbers.
template <class T>
Key<T> key_of(T x, bool descending) {
  using Bits = Key<T>;
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  constexpr auto kAll = static_cast<Bits>(~Bits{0});
  Bits bits{};
  std::memcpy(&bits, &x, sizeof bits);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return (descending ? ~bits : bits) ^ kSign;
  } else {
    const auto magnitude = static_cast<Bits>(bits & ~kSign);
    bits = magnitude == 0 ? Bits{0} : bits;
    const auto ascending = static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
    const auto key = static_cast<Bits>(descending ? ~ascending : ascending);
    return magnitude > kInfinity<T> ? kAll : key;
  }
}

/// Sorts items by `bytes` bytes of their keys, starting with the lowest; each pass keeps the order of equal bytes. The result lies in
/// `items` or in `other`, and is returned.
std::uint64_t* sort_by_digits(std::uint64_t* items, std::uint64_t* other, index n, int bytes) {
  constexpr int kValues = 256;
  const auto digit_of = [](std::uint64_t item, int digit) { return static_cast<std::size_t>(item >> (32 + 8 * digit) & 0xFF); };
  std::array<std::array<std::uint32_t, kValues>, 4> starts{};
  for (index i = 0; i < n; ++i) {
    for (int digit = 0; digit < bytes; ++digit) {
      ++starts[static_cast<std::size_t>(digit)][digit_of(items[i], digit)];
    }
  }
  for (int digit = 0; digit < bytes; ++digit) {
    auto& start = starts[static_cast<std::size_t>(digit)];
    if (start[digit_of(items[0], digit)] == static_cast<std::uint32_t>(n)) {
      continue;  // all are equal
    }
    std::uint32_t before = 0;
    for (std::uint32_t& value : start) {
      before += value;
      value = before - value;
    }
    for (index i = 0; i < n; ++i) {
      other[start[digit_of(items[i], digit)]++] = items[i];
    }
    std::swap(items, other);
  }
  return items;
}

/// Writes the items of the first `count` of n elements in order, sorted, to the front of `items`, which has room for n. n is more than
/// count, which is more than 0. The threshold is the last of the first `count` items that were seen so far, and only smaller ones are kept.
template <class T>
void sort_first(const Key<T>* keys, index n, index count, Item<T>* items) {
  const index room = std::max(2 * count, count + 64);
  index kept = 0;
  const auto keep = [&](index i) { items[kept++] = ItemOf<T>::make(keys[i], i); };
  const auto keep_first = [&] {
    std::nth_element(items, items + count - 1, items + kept);
    kept = count;
    return ItemOf<T>::key_of(items[count - 1]);
  };
  // Keep as many elements as there is room for.
  const index begin = std::min(room, n);
  for (index i = 0; i < begin; ++i) {
    keep(i);
  }
  if (begin < n) {
    // The earlier element of two with equal keys is first, so only smaller keys come before the threshold. Most blocks have none.
    Key<T> last = keep_first();
    for (index block = begin; block < n; block += kBlock) {
      const index end = std::min(block + kBlock, n);
      Key<T> has_smaller = 0;  // as wide as the keys, so that the loop becomes vectors
      for (index i = block; i < end; ++i) {
        has_smaller |= static_cast<Key<T>>(keys[i] < last);
      }
      for (index i = block; has_smaller != 0 && i < end; ++i) {
        if (keys[i] < last) {
          keep(i);
          if (kept == room) {
            last = keep_first();
          }
        }
      }
    }
  }
  // Sort the first `count` of those that are kept.
  if (kept > count) {
    keep_first();
  }
  std::sort(items, items + count);
}

/// Sorts the first `count` of n elements with these keys. Returns their items, which lie in `items` or in `other`, of n items each.
template <class T>
const Item<T>* first_in_order(const Key<T>* keys, index n, index count, Item<T>* items, Item<T>* other) {
  if (count < n / 4) {
    sort_first<T>(keys, n, count, items);
    return items;
  }
  for (index i = 0; i < n; ++i) {
    items[i] = ItemOf<T>::make(keys[i], i);
  }
  if constexpr (std::is_same_v<Item<T>, std::uint64_t>) {
    if (n >= kLeastForDigits) {
      return sort_by_digits(items, other, n, sizeof(Key<T>));
    }
  }
  std::sort(items, items + n);
  return items;
}

}  // namespace

template <class T>
void order(const Order<T>& p) {
  if (p.count == 0) {
    return;
  }
  // A group is some adjacent lines. Their keys, and the items of one line, lie in the thread's scratch memory.
  const index lines = std::clamp<index>(kMostItems / p.extent, 1, std::min(kLinesAtOnce, std::max<index>(p.inner, 1)));
  const index groups_in_outer = ceil_div(p.inner, lines);
  const index groups = p.outer * groups_in_outer;
  const index in_task = std::max<index>(1, kTile / (p.extent * lines));
  const index n = p.outer * p.extent * p.inner;
  const auto work = Work{8 * Work::elements(n).multiply_adds};  // an element is moved several times
  const auto lease_keys = [&] { return Scratch<Key<T>>(lines * p.extent); };
  const auto lease_items = [&] { return Scratch<Item<T>>(2 * p.extent); };
  parallel_for(
      ceil_div(groups, in_task), work,
      [&] {
        const auto keys = lease_keys();
        lease_items();
      },
      [&](index task) {
        const Scratch<Key<T>> keys = lease_keys();
        const Scratch<Item<T>> items = lease_items();
        for (index group = task * in_task; group < std::min(groups, (task + 1) * in_task); ++group) {
          const index outer = group / groups_in_outer, first = group % groups_in_outer * lines;
          const index count = std::min(lines, p.inner - first);
          const T* const x = p.x + outer * p.extent * p.inner + first;
          std::int32_t* const indices = p.indices + outer * p.count * p.inner + first;
          // Make the keys.
          if (p.inner == 1) {
            for (index i = 0; i < p.extent; ++i) {
              keys[i] = key_of(x[i], p.descending);
            }
          } else {
            for (index i = 0; i < p.extent; ++i) {
              for (index line = 0; line < count; ++line) {
                keys[line * p.extent + i] = key_of(x[i * p.inner + line], p.descending);
              }
            }
          }
          // Sort each line, and keep its indices.
          for (index line = 0; line < count; ++line) {
            const Item<T>* const sorted = first_in_order<T>(keys + line * p.extent, p.extent, p.count, items, items + p.extent);
            for (index i = 0; i < p.count; ++i) {
              indices[i * p.inner + line] = ItemOf<T>::index_of(sorted[i]);
            }
          }
        }
      });
}

template void order(const Order<float>&);
template void order(const Order<double>&);
template void order(const Order<bf16>&);
template void order(const Order<std::int32_t>&);

}  // namespace dikkat::kernels
