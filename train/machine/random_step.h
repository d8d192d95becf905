#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/tape/tape.h"
#include "optim/optimizer.h"
#include "train/config/config.h"
#include "train/data/samples/batch.h"
#include "train/model/language_model.h"
#include "train/text/token.h"

namespace dikkat {

/// Returns tokens below vocab_size at random; `draw` chooses among independent lists.
std::vector<Token> random_tokens(index count, index vocab_size, std::uint64_t draw);

/// Runs optimizer steps of the model in a configuration, on random tokens, to measure their speed.
class RandomStep {
 public:
  /// The configuration must be resolved, with the size of the vocabulary. Throws what settle_precision() throws.
  explicit RandomStep(Config config);

  /// Runs forward, backward, clipping and the optimizer.
  void run();

  const Config& config() const { return c_; }
  const LanguageModel& model() const { return model_; }
  const Batch& batch() const { return batch_; }
  Tape& tape() { return tape_; }

 private:
  Config c_;
  LanguageModel model_;
  std::unique_ptr<Optimizer> optimizer_;
  Batch batch_;
  Tape tape_;
  index step_ = 0;
};

}  // namespace dikkat
