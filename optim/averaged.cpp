#include "optim/averaged.h"

#include <algorithm>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

constexpr index kBlock = 1 << 14;  // elements

}  // namespace

Averaged::Averaged(std::unique_ptr<Optimizer> inner, ParameterStore& store, double decay)
    : Optimizer(store),
      inner_(std::move(inner)),
      decay_(decay),
      average_([&] {
        require(0 < decay && decay < 1, "averaged: a decay of ", decay, ", expected a number above 0 and below 1");
        return slab_of(settings_of(store, 0), kSlab, "moving average of the weights");
      }()),
      ranges_(element_ranges(settings_of(store, 0), average_)) {
  units_ = inner_->units();
}

std::vector<StateSlab*> Averaged::state() {
  std::vector<StateSlab*> all = inner_->state();
  all.push_back(&average_);
  return all;
}

Cost Averaged::cost() const {
  Cost cost = inner_->cost();
  cost.bytes += 3 * static_cast<double>(average_.bytes());  // weights read, average read and written
  return cost;
}

template <class F>
void Averaged::for_blocks(std::span<const Unit> units, F&& f) {
  for_float(store_.dtype(), "averaged", [&](auto zero) {
    using T = decltype(zero);
    for_ranges(units, ranges_, [&](const ElementRange&, index begin, index count, index state) {
      T* const weights = store_.weights<T>() + begin;
      T* const averages = average_.at<T>(state);
      parallel_blocks(count, kBlock, [&](index from, index to) { f(weights + from, averages + from, to - from); });
    });
  });
}

bool Averaged::update(const Update& u, std::span<const Unit> units) {
  const bool finite = inner_->update(u, units);
  const auto t = static_cast<double>(u.step);
  const double decay = std::min(decay_, (t - 1) / (t + 9));
  for_blocks(units, [&](const auto* __restrict weights, auto* __restrict averages, index count) {
    using T = std::remove_cvref_t<decltype(*averages)>;
    const T new_part = static_cast<T>(1 - decay);
    for (index i = 0; i < count; ++i) {
      averages[i] += new_part * (weights[i] - averages[i]);
    }
  });
  return finite;
}

void Averaged::start_average() {
  reserve();
  for_blocks(units_, [](const auto* weights, auto* averages, index count) { std::copy_n(weights, count, averages); });
}

bool Averaged::exchange_average() {
  reserve();
  for_blocks(units_, [](auto* weights, auto* averages, index count) { std::swap_ranges(weights, weights + count, averages); });
  return true;
}

}  // namespace dikkat
