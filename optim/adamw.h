#pragma once

#include "optim/element_ranges.h"

namespace dikkat {

/// Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101); with weight_decay 0 it is Adam (Kingma and Ba, arXiv
/// 1412.6980).
class AdamW : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
    double weight_decay = 0.1;    // for parameters of Decay::yes
    bool cautious_decay = false;  // decay only weights that the update moves towards 0
  };

  /// Updates all trained parameters. Throws Error when the store has not been laid out.
  AdamW(ParameterStore& store, const Options& options) : AdamW(store, options, settings_of(store, options.weight_decay)) {}
  /// Updates only these parameters, which must be in the order of the slab. Their settings hold the weight decay.
  AdamW(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters);

  const char* name() const override { return "AdamW"; }
  std::vector<StateSlab*> state() override { return {&m_, &v_}; }
  Cost cost() const override;
  bool update(const Update& update, std::span<const Unit> units) override;

 private:
  Options options_;
  StateSlab m_, v_;
  std::vector<ElementRange> ranges_;
};

}  // namespace dikkat
