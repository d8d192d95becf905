#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/metrics/reports.h"
#include "train/run/evaluate.h"

namespace dikkat {

/// Evaluates a run: measures the losses over the validation and training parts of its sources, and over the texts of data.evaluations. It
/// reads about train.eval_tokens tokens of each text; several sources share these.
class RunEvaluator {
 public:
  /// Keeps a reference to the data. The ranks evaluate together, as with an Evaluator.
  RunEvaluator(std::unique_ptr<Scorer> scorer, const TrainingData& data, const Config& config, std::shared_ptr<Ranks> ranks);

  /// Returns whether there are texts to validate on, and the configuration asks for evaluations.
  bool evaluates() const { return !validation_.empty(); }

  /// Returns the report of a step, without NamedLoss::epochs, `memory` and `best`. Calls `stop` between blocks, and returns nothing if it
  /// returns true.
  std::optional<EvaluationReport> operator()(std::uint64_t seed, index step, const std::function<bool()>& stop = {},
                                             const std::function<void(double)>& progress = {});
  /// Returns the fingerprint of the tokens that the validation loss covers. Reads the texts once, at the first call or evaluation.
  const LossFingerprint& scored();
  /// Returns the seconds of an evaluation, estimated from a block of each text.
  double estimate();
  /// Does what Evaluator::reserve() does, but for all texts.
  std::size_t reserve();

 private:
  struct Part {
    std::string name;
    const Dataset* text;
    index count;  // samples to evaluate
    double share;
    LossFingerprint scored{};

    const Samples& samples() const { return *text->evaluation(); }
  };
  template <class F>
  void for_parts(F&& f) const;

  std::unique_ptr<Scorer> scorer_;
  Evaluator evaluator_;
  const TrainingData& data_;
  std::vector<Part> validation_, training_, others_;
  std::optional<LossFingerprint> scored_;  // combined fingerprint of the validation parts
};

}  // namespace dikkat
