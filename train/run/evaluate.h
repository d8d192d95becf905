#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "train/parallel/ranks.h"
#include "train/run/scorer.h"

namespace dikkat {

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
  /// Keeps a reference to the scorer. `operands` is the type that matrix products read (Pass::operands). Several ranks share the blocks:
  /// they call this together, and get equal results.
  explicit Evaluator(Scorer& scorer, DType operands = DType::f32, std::shared_ptr<Ranks> ranks = std::make_shared<Ranks>())
      : scorer_(scorer), operands_(operands), ranks_(std::move(ranks)) {}

  /// Makes attention round keys and values to this type (bf16), as sampling with a cache of this type does.
  void round_keys(DType keys) { keys_ = keys; }

  /// Evaluates samples. Calls `stop` between blocks, and returns nothing if it returns true. Calls `progress` with the share that is done.
  std::optional<Evaluation> operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop = {},
                                       const std::function<void(double)>& progress = {});

  /// Estimates the seconds that an evaluation of `count` samples takes, from the time of one block.
  double estimate(const Samples& text, index count);

  /// Maps the memory for an evaluation of `count` samples of the text, as measured by a dry run of one block. Returns its bytes. Throws
  /// Error if the system does not have that memory.
  std::size_t reserve(const Samples& text, index count);

 private:
  void choose(const Samples& text, const SampleChoice& choice);
  bool score(const Samples& text, const std::function<bool()>& stop, const std::function<void(double)>& progress);
  void score_block(const Samples& text, index first, index rows);
  Pass pass_on(Tape& tape) const;

  Scorer& scorer_;
  DType operands_;
  std::optional<DType> keys_{};
  std::shared_ptr<Ranks> ranks_;
  Tape tape_{Recording::off};
  Batch batch_;
  std::vector<index> chosen_;         // samples
  std::vector<index> starts_;         // the start of each chosen sample's numbers, and their count
  std::vector<double> numbers_;       // the numbers that the scorer writes
  std::vector<SampleLoss> losses_;    // losses of the chosen samples
  std::vector<WeightedLoss> blocks_;  // observations
};

}  // namespace dikkat
