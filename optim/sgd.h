#pragma once

#include "optim/element_ranges.h"

namespace dikkat {

/// Stochastic gradient descent with momentum (kernels/optimizer/sgd.h has the formulas, which are torch.optim.SGD's). Weight decay is part
/// of the gradient. It ignores Update::momentum.
class Sgd : public Optimizer {
 public:
  struct Options {
    double momentum = 0.9;
    bool nesterov = false;
    double weight_decay = 0;  // for parameters of Decay::yes
  };

  /// Updates all trained parameters. Throws Error when the store has not been laid out.
  Sgd(ParameterStore& store, const Options& options) : Sgd(store, options, settings_of(store, options.weight_decay)) {}
  /// Updates only these parameters, which must be in the order of the slab. Their settings hold the weight decay.
  Sgd(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters);

  const char* name() const override { return "SGD"; }
  std::vector<StateSlab*> state() override { return {&momentum_}; }
  Cost cost() const override;
  bool update(const Update& update, std::span<const Unit> units) override;

 private:
  Options options_;
  StateSlab momentum_;
  std::vector<ElementRange> ranges_;
};

}  // namespace dikkat
