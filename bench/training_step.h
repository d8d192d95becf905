#pragma once

#include <algorithm>
#include <memory>

#include "autograd/tape/tape.h"
#include "bench/model.h"
#include "optim/clip.h"
#include "train/model/language_model.h"
#include "train/run/make_optimizer.h"
#include "train/run/precision.h"

namespace dikkat::bench {

/// Optimizer steps of the model in a configuration, on random tokens.
class TrainingStep {
 public:
  explicit TrainingStep(Config config) : c_(settled(std::move(config))), model_(c_.model, 1, c_.lora) {
    optimizer_ = make_optimizer(c_.optim, model_.parameters());
    model_.parameters().allocate(1);
    const index rows = c_.train.batch_size;
    const index time = c_.model.block_size;
    batch_.reshape(rows, {.cols = time});
    batch_.inputs = random_tokens(rows * time, c_.model.vocab_size, 0);
    batch_.targets = random_tokens(rows * time, c_.model.vocab_size, 1);
    std::fill(batch_.weights.begin(), batch_.weights.end(), 1.0F);
    batch_.target_weight = static_cast<double>(rows * time);
  }

  /// Runs forward, backward, clipping and the optimizer.
  void run() {
    for (index micro = 0; micro < c_.train.gradient_accumulation_steps; ++micro) {
      Pass pass{.tape = tape_,
                .training = true,
                .seed = 1,
                .step = static_cast<std::uint64_t>(step_),
                .first_sequence = micro * c_.train.batch_size,
                .recompute = c_.train.recompute,
                .operands = operand_type(c_.train)};
      const Tensor loss = model_.loss(pass, batch_, batch_.target_weight * static_cast<double>(c_.train.gradient_accumulation_steps));
      tape_.backward(loss);
      tape_.reset();
    }
    const double norm = gradient_norm(model_.parameters());
    optimizer_->step(++step_, c_.optim.learning_rate, clip_factor(norm, c_.optim.grad_clip));
  }

  const Config& config() const { return c_; }
  const LanguageModel& model() const { return model_; }
  const Batch& batch() const { return batch_; }
  Tape& tape() { return tape_; }

 private:
  static Config settled(Config c) {
    settle_precision(c);
    return c;
  }

  Config c_;
  LanguageModel model_;
  std::unique_ptr<Optimizer> optimizer_;
  Batch batch_;
  Tape tape_;
  index step_ = 0;
};

}  // namespace dikkat::bench
