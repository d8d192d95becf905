#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "train/data/batch.h"
#include "train/data/samples.h"
#include "train/model/language_model.h"
#include "train/parallel/ranks.h"

namespace dikkat {

struct Evaluation {
  double loss = 0;   // mean cross-entropy per token, in nats
  index tokens = 0;  // number of predictions
  /// Standard error of the loss as an estimate for more text of this kind. Losses of neighbouring tokens are correlated, so an observation
  /// is a block of at least as many predictions as a window has, whatever the stride, and the loss is a ratio estimate (Cochran 1977,
  /// "Sampling Techniques", 6.4). NaN if there is only one block.
  double standard_error = std::numeric_limits<double>::quiet_NaN();

  double perplexity() const;
  /// If the predicted tokens stand for `bytes` bytes of text.
  double bits_per_byte(index bytes) const;
};

/// The mean of evaluations by their shares, for texts that were drawn one apart from the other. Throws Error if there are none.
struct WeightedEvaluation {
  Evaluation of;
  double share = 1;
};
Evaluation mean(std::span<const WeightedEvaluation> evaluations);

/// Which samples of a text to evaluate.
struct SampleChoice {
  index count = 0;  // 0, or more than there are: all of them
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  // each (seed, draw) selects other samples, from a random stream of its own
};

/// Measures losses, and does not change the model. It works in blocks of a fixed size, so its bits depend neither on the batch size of
/// training nor on the number of threads. It keeps its memory, so a second evaluation allocates nothing.
class Evaluator {
 public:
  /// Keeps a reference to the model, whose weights must be there when it evaluates. `operands` is what matrix products read
  /// (Pass::operands). Several ranks share the blocks: they call this together, and get equal results.
  explicit Evaluator(const LanguageModel& model, DType operands = DType::f32, std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>())
      : model_(model), operands_(operands), ranks_(std::move(ranks)) {}

  /// Calls `stop` between blocks: if it returns true, there is no result. Calls `progress` with the share that is done.
  std::optional<Evaluation> operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop = {},
                                       const std::function<void(double)>& progress = {});

  /// Called after each block with its batch, whose `inputs`, `targets` and `weights` are (B, T), and the losses of its targets, (B, T).
  using Listener = std::function<void(const Batch& batch, std::span<const double> losses)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  /// Estimates the seconds that an evaluation of `count` samples takes, from the time of one block.
  double estimate(const Samples& text, index count);

  /// Maps the memory that an evaluation of `count` samples of the text takes, and returns its bytes; a dry run of one block tells. Throws
  /// Error if the system has no such memory.
  std::size_t reserve(const Samples& text, index count);

 private:
  void compute_losses(Tape& tape, index rows, const RowLengths& lengths);

  const LanguageModel& model_;
  DType operands_;
  Tape tape_{Recording::off};
  Batch batch_;
  Listener listener_;
  std::shared_ptr<Ranks> ranks_;
  std::vector<double> terms_;                      // losses, one per position
  std::vector<double> sums_;                       // of the windows
  std::vector<std::pair<double, double>> blocks_;  // for each block: sum of its losses, and their weight
};

}  // namespace dikkat
