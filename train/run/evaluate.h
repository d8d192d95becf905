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
#include "train/run/objectives/preference_loss.h"

namespace dikkat {

struct Evaluation {
  double loss = 0;   // mean cross-entropy per token, in nats
  index tokens = 0;  // number of predictions
  /// Standard error of the loss as an estimate for more text of this kind. Losses of neighbouring tokens are correlated, so an observation
  /// is a block of at least as many predictions as a window has, whatever the stride. The loss is a ratio estimate (Cochran 1977,
  /// "Sampling Techniques", 6.4). NaN if there is only one block.
  double standard_error = std::numeric_limits<double>::quiet_NaN();

  /// The mean probability of the watched tokens where they are the targets (Evaluator::watch()), and how often they are.
  double end_probability = std::numeric_limits<double>::quiet_NaN();
  index ends = 0;

  std::optional<PreferenceSums> preferences{};  // for samples of preferences: `loss` is then that of a unit, and `tokens` counts units

  double perplexity() const;
  /// `bytes` is the size of the text that the predicted tokens stand for.
  double bits_per_byte(index bytes) const;
};

struct WeightedEvaluation {
  Evaluation of;
  double share = 1;
};
/// Returns the weighted mean of evaluations of independently sampled texts. Throws Error if there are none.
Evaluation mean(std::span<const WeightedEvaluation> evaluations);

/// Selects the samples of a text to evaluate.
struct SampleChoice {
  index count = 0;  // 0, or more than the text has: all samples
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  // each (seed, draw) has its own random stream, and selects other samples
};

/// Measures losses, and does not change the model. It works in blocks of a fixed size, so its bits depend neither on the batch size of
/// training nor on the number of threads. It keeps the memory of its tape for the next evaluation.
class Evaluator {
 public:
  /// Keeps a reference to the model, whose weights may be loaded later. `operands` is the type that matrix products read (Pass::operands).
  /// Several ranks share the blocks: they call this together, and get equal results.
  explicit Evaluator(const LanguageModel& model, DType operands = DType::f32, std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>())
      : model_(model), operands_(operands), ranks_(std::move(ranks)) {}

  /// From now on, samples of preferences are evaluated by their loss. z of kto is estimated from all of them.
  void use(const PreferenceConfig& config) { preference_ = config; }

  /// From now on, also measures how probable these tokens are where they are the targets: those that end an answer.
  void watch(std::vector<Token> ends) { ends_ = std::move(ends); }

  /// bf16: attention rounds keys and values, as sampling with a cache of this type does.
  void round_keys(DType keys) { keys_ = keys; }

  /// Calls `stop` between blocks, and returns nothing if it returns true. Calls `progress` with the share that is done.
  std::optional<Evaluation> operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop = {},
                                       const std::function<void(double)>& progress = {});

  /// Is called after each block with its batch, whose `inputs`, `targets` and `weights` are (B, T), and the losses of its targets, (B, T).
  using Listener = std::function<void(const Batch& batch, std::span<const double> losses)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  /// Estimates the seconds that an evaluation of `count` samples takes, from the time of one block.
  double estimate(const Samples& text, index count);

  /// Maps the memory for an evaluation of `count` samples of the text, which a dry run of one block finds out. Returns its bytes. Throws
  /// Error if the system does not have that memory.
  std::size_t reserve(const Samples& text, index count);

 private:
  void add_ends(index rows, index cols, std::span<double> out) const;
  void compute_losses(Tape& tape, index rows, const RowLengths& lengths);
  std::vector<PreferenceSums> judge(const Samples& text, std::span<const index> samples);

  const LanguageModel& model_;
  DType operands_;
  std::optional<DType> keys_{};
  Tape tape_{Recording::off};
  Batch batch_;
  Listener listener_;
  std::shared_ptr<Ranks> ranks_;
  std::vector<double> terms_;  // the losses of the current block, one per position
  PreferenceConfig preference_;
  std::vector<double> numbers_;  // the sum of losses of each sample; or the log-probabilities of its answers
  std::vector<double> log_probabilities_, slopes_;
  std::vector<Token> ends_;
  std::vector<double> end_numbers_;                // for each sample: the sum of the probabilities of its ends, and their number
  std::vector<std::pair<double, double>> blocks_;  // for each observation: the sum of its losses, and their weight
};

}  // namespace dikkat
