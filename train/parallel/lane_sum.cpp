#include "train/parallel/lane_sum.h"

#include <bit>

#include "train/parallel/add.h"

namespace dikkat {
namespace {

index power_of_two(index lanes) {
  require(lanes >= 1 && std::has_single_bit(static_cast<std::uint64_t>(lanes)), "lane sum: ", lanes, " lanes, expected a power of two");
  return lanes;
}

/// Returns the number of partial sums of the lanes before this one: one for each bit that is set in its index.
index open_sums(index lane) { return std::popcount(static_cast<std::uint64_t>(lane)); }

}  // namespace

LaneSum::LaneSum(ParameterStore& store, index lanes) : store_(store), lanes_(power_of_two(lanes)) {}

index LaneSum::slabs(index lanes) { return static_cast<index>(std::bit_width(static_cast<std::uint64_t>(lanes))) - 1; }

void LaneSum::reserve() {
  for (index slab = 0; slab < slabs(lanes_); ++slab) {
    slabs_.emplace_back(static_cast<std::size_t>(store_.trainable_size()) * size_of(store_.dtype()), "gradients of lanes");
  }
}

// The partial sums work as a binary counter. Sum 0 is in the store's own slab, and sum i + 1 in slabs_[i].
void LaneSum::begin(index lane) {
  if (lanes_ == 1) {
    return;
  }
  const index open = open_sums(lane);
  store_.redirect_gradients(open == 0 ? nullptr : slabs_[static_cast<std::size_t>(open - 1)].data());
}

void LaneSum::end(index lane) {
  if (lanes_ == 1) {
    return;
  }
  store_.complete_gradients();
  add_range(lane, 0, store_.trainable_size());
  close();
}

void LaneSum::add_range(index lane, index begin, index end) {
  for_float(store_.dtype(), "lane sum", [&](auto zero) {
    using T = decltype(zero);
    index newest = open_sums(lane);
    for (; (lane & 1) != 0; lane >>= 1, --newest) {
      const auto slab = [&](index sum) {
        return begin + (sum == 0 ? store_.gradients<T>() : reinterpret_cast<T*>(slabs_[static_cast<std::size_t>(sum - 1)].data()));
      };
      add<T>(end - begin, slab(newest), slab(newest - 1));
    }
  });
}

void LaneSum::close() {
  if (lanes_ > 1) {
    store_.redirect_gradients(nullptr, true);
  }
}

}  // namespace dikkat
