#pragma once

#include <exception>
#include <optional>

#include "train/config/config.h"
#include "train/model/fake_quantized_weights.h"
#include "train/parallel/data_parallel_step.h"
#include "train/run/step_clock.h"

namespace dikkat {

/// The weights that passes and evaluations see where these differ from the weights that the optimizer updates. They are rounded
/// (quantization-aware training, train.quantize) or a moving average (optim.ema_decay), or both.
class WeightView {
 public:
  /// Keeps references.
  WeightView(const Config& config, const ParameterStore& parameters, DataParallelStep& parallel_step, const StepClock& clock);

  /// Maps the memory of rounded weights without touching it.
  void reserve();

  /// Shows other weights until it ends.
  class Shown {
   public:
    Shown(FakeQuantizedWeights* rounded, DataParallelStep* averaged);
    /// When an error ends the run, an average stays shown, because the other ranks wait for something else then.
    ~Shown() noexcept(false);
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

    /// Shows the exact weights again, earlier than the destructor would.
    void end();

   private:
    FakeQuantizedWeights* rounded_;
    DataParallelStep* averaged_;
    int exceptions_ = std::uncaught_exceptions();
  };
  /// Returns the view for the passes of a step: rounded weights, in the last steps of a run with train.quantize.
  Shown for_passes(index step);
  /// Returns the view for an evaluation: the average, if the run keeps one, and rounded with train.quantize.
  Shown for_evaluation();

 private:
  FakeQuantizedWeights* rounded() { return rounded_ ? &*rounded_ : nullptr; }

  DataParallelStep& parallel_step_;
  const StepClock& clock_;
  std::optional<FakeQuantizedWeights> rounded_;
  index first_rounded_;  // the first step whose passes see rounded weights
};

}  // namespace dikkat
