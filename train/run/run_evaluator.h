#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/metrics/reports.h"
#include "train/run/evaluate.h"

namespace dikkat {

/// Measures what a run is judged by: the losses over the validation and training parts of its sources, and over the texts of
/// data.evaluations. Of each text about train.eval_tokens tokens are looked at; of several sources, their share of these.
class RunEvaluator {
 public:
  /// Keeps references to model and data. The ranks evaluate together, as those of an Evaluator.
  RunEvaluator(const LanguageModel& model, const TrainingData& data, const TrainConfig& config, std::shared_ptr<Ranks> ranks);

  /// Whether there is something to validate on, and the configuration asks for that.
  bool evaluates() const { return !validation_.empty(); }

  /// The report of a step, without NamedLoss::epochs, `memory` and `best`. `stop` is asked between blocks: if it returns true, there is
  /// none.
  std::optional<EvaluationReport> operator()(std::uint64_t seed, index step, const std::function<bool()>& stop = {},
                                             const std::function<void(double)>& progress = {});
  /// Returns what the validation loss is over. Reads the texts once, at the first call or evaluation.
  const ScoredSet& scored();
  /// The seconds that it will take, estimated from a block of each text.
  double estimate();
  /// As Evaluator::reserve(), for all texts.
  std::size_t reserve();

 private:
  struct Part {
    std::string name;
    const EvaluationText* text;
    index count;  // of the samples that are looked at
    double share;
    ScoredSet scored{};

    const Samples& samples() const { return *text->samples; }
  };
  template <class F>
  void for_parts(F&& f) const;

  Evaluator evaluator_;
  const TrainingData& data_;
  std::vector<Part> validation_, training_, others_;
  std::optional<ScoredSet> scored_;  // of the validation parts together
};

}  // namespace dikkat
