#include "train/machine/random_step.h"

#include <algorithm>
#include <utility>

#include "autograd/simd/philox.h"
#include "optim/clip.h"
#include "train/model/make_optimizer.h"
#include "train/model/precision.h"

namespace dikkat {
namespace {

Config settled(Config config) {
  settle_precision(config);
  return config;
}

}  // namespace

std::vector<Token> random_tokens(index count, index vocab_size, std::uint64_t draw) {
  const RandomStream stream(1, "bench", draw);
  std::vector<Token> tokens;
  for (index i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>(stream.word(i) % static_cast<std::uint32_t>(vocab_size)));
  }
  return tokens;
}

RandomStep::RandomStep(Config config) : c_(settled(std::move(config))), model_(c_.model, 1, c_.lora) {
  optimizer_ = make_optimizer(c_.optim, model_.parameters());
  model_.parameters().allocate(1);
  const index rows = c_.train.batch_size, time = c_.model.block_size;
  batch_.reshape(rows, {.cols = time});
  batch_.inputs = random_tokens(rows * time, c_.model.vocab_size, 0);
  batch_.targets = random_tokens(rows * time, c_.model.vocab_size, 1);
  std::fill(batch_.weights.begin(), batch_.weights.end(), 1.0F);
  batch_.target_weight = static_cast<double>(rows * time);
}

void RandomStep::run() {
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

}  // namespace dikkat
