#pragma once

#include <memory>

#include "optim/element_ranges.h"

namespace dikkat {

/// Wraps another optimizer and keeps an exponential moving average (EMA) of the weights. After update t, average = d average + (1 - d)
/// weight, with d = min(decay, (t - 1) / (t + 9)), so that the average follows the weights at the beginning. It smooths the noise of the
/// last steps (Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging").
class Averaged : public Optimizer {
 public:
  /// Throws Error unless 0 < decay < 1.
  Averaged(std::unique_ptr<Optimizer> inner, ParameterStore& store, double decay);

  /// The name of the average's slab.
  static constexpr const char* kSlab = "average";

  const char* name() const override { return inner_->name(); }
  std::vector<StateSlab*> state() override;
  Cost cost() const override;
  bool update(const Update& update, std::span<const Unit> units) override;
  void start_average() override;
  bool exchange_average() override;

 private:
  /// Calls f(weights, averages, count) for blocks of elements, in parallel.
  template <class F>
  void for_blocks(std::span<const Unit> units, F&& f);

  std::unique_ptr<Optimizer> inner_;
  double decay_;
  StateSlab average_;
  std::vector<ElementRange> ranges_;
};

}  // namespace dikkat
