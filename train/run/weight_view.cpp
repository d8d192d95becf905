#include "train/run/weight_view.h"

#include <cmath>

namespace dikkat {

WeightView::WeightView(const Config& config, const ParameterStore& parameters, DataParallelStep& parallel_step, const StepClock& clock)
    : parallel_step_(parallel_step),
      clock_(clock),
      first_rounded_(config.optim.decay_steps -
                     std::llround(config.train.quantize_share * static_cast<double>(*config.optim.decay_steps))) {
  if (config.train.quantize != Quantize::none) {
    rounded_.emplace(parameters);
  }
}

void WeightView::reserve() {
  if (rounded_) {
    rounded_->reserve();
  }
}

WeightView::Shown WeightView::for_passes(index step) {
  if (!rounded_ || step < first_rounded_) {
    return {nullptr, nullptr};
  }
  const Profile::Piece piece = clock_.piece("rounding of weights", {.bytes = 2 * static_cast<double>(rounded_->bytes())});
  return {rounded(), nullptr};
}

WeightView::Shown WeightView::for_evaluation() { return {rounded(), &parallel_step_}; }

WeightView::Shown::Shown(FakeQuantizedWeights* rounded, DataParallelStep* averaged) : rounded_(nullptr), averaged_(averaged) {
  if (averaged_ != nullptr) {
    averaged_->exchange_average();
  }
  if (rounded != nullptr) {
    rounded->show();
    rounded_ = rounded;
  }
}

WeightView::Shown::~Shown() noexcept(false) { end(); }

void WeightView::Shown::end() {
  if (auto* const rounded = std::exchange(rounded_, nullptr); rounded != nullptr) {
    rounded->hide();
  }
  if (auto* const averaged = std::exchange(averaged_, nullptr); averaged != nullptr && std::uncaught_exceptions() == exceptions_) {
    averaged->exchange_average();
  }
}

}  // namespace dikkat
