#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "train/data/batch.h"
#include "train/data/samples.h"
#include "train/model/language_model.h"

namespace dikkat {

struct Evaluation {
  double loss = 0;   // mean cross-entropy of a token, in nats
  index tokens = 0;  // predictions that it is the mean of
  /// Of the mean, were other parts of such text looked at. Losses of neighbouring tokens go together, so an observation is a block of at
  /// least as many predictions as a window is long, whatever the stride, and the mean is their ratio (Cochran 1977, "Sampling Techniques",
  /// 6.4). NaN where there is one block.
  double standard_error = std::numeric_limits<double>::quiet_NaN();

  double perplexity() const;
  /// Of a text in which these tokens stand for `bytes` bytes.
  double bits_per_byte(index bytes) const;
};

/// Which samples of a text to look at.
struct SampleChoice {
  index count = 0;  // 0, or as many as there are or more: all of them
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  // samples are drawn anew for each (seed, draw), by a random stream of their own
};

/// Measures losses without touching the model. Works in blocks of a fixed size, so the bits depend neither on the batch size of
/// training nor on threads, and gives back no memory in between, so the second time allocates nothing.
class Evaluator {
 public:
  /// Keeps a reference to the model, which has its weights.
  explicit Evaluator(const LanguageModel& model) : model_(model) {}

  /// `stop` is asked between blocks; when it says true there is no result. `progress` is told the share that is done.
  std::optional<Evaluation> operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop = {},
                                       const std::function<void(double)>& progress = {});

  /// Seconds that an evaluation of `count` samples would take, by a block of it.
  double estimate(const Samples& text, index count);

  /// Bytes that an evaluation of `count` samples of the text takes, by a block of it in a DryRun; they are mapped now. Throws Error when
  /// the system has no such memory.
  std::size_t reserve(const Samples& text, index count);

 private:
  void look_at(Tape& tape, index rows, const RowLengths& lengths);

  const LanguageModel& model_;
  Tape tape_{Recording::off};
  Batch batch_;
  std::vector<double> terms_;                      // of the loss, one a position
  std::vector<std::pair<double, double>> blocks_;  // the sum of its losses, and their weight
};

}  // namespace dikkat
