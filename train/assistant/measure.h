#pragma once

#include <string>

#include "autograd/base/index.h"
#include "train/assistant/stage.h"

namespace dikkat::assistant {

/// What the first steps of a run showed.
struct StageTrial {
  double step_seconds = 0;        ///< of a step, with its part of the saves
  double evaluation_seconds = 0;  ///< of one evaluation
  double loading_seconds = 0;     ///< to read the text, and to train the tokenizer
  index epoch_windows = 0, tokens = 0, vocab_size = 0;
  double bytes_per_token = 1;  ///< of the sample
  std::string tokenizer{};     ///< JSON
};

/// What a plan must try on the machine. Tests replace it.
class Measure {
 public:
  virtual ~Measure() = default;
  /// Returns the FLOP/s of matrix products.
  virtual double product_rate() = 0;
  /// Prepares a run and makes its first steps, without writing anything. Counts the tokens of `sample`, which may be empty. Throws
  /// InputError for texts that cannot be read.
  virtual StageTrial try_stage(const StageRun& run, const std::string& sample) = 0;
  /// Returns why a run of a model with this tokenizer (JSON) cannot learn from its text; empty if it can.
  virtual std::string objection_to(const StageRun& run, const std::string& tokenizer) = 0;
  /// Returns the seconds since planning began.
  virtual double seconds() = 0;
};

}  // namespace dikkat::assistant
