#pragma once

#include <optional>
#include <vector>

#include "train/parallel/gradient_exchange.h"
#include "train/parallel/lane_sum.h"
#include "train/parallel/ranks.h"

namespace dikkat {

/// This rank's share of each step: which micro-batches it computes, and what it updates. With one lane and one rank it is all of it, summed
/// and updated as without lanes.
class DataParallelStep {
 public:
  /// Keeps references; the passes run on `tape`. Throws InputError unless the ranks divide the lanes.
  DataParallelStep(ParameterStore& store, Optimizer& optimizer, Ranks& ranks, index lanes, Tape& tape,
                   index bucket = GradientExchange::kBucket);

  /// Maps the memory of the lanes' sums.
  void reserve() { sum_.reserve(); }

  /// Of a step of `passes` micro-batches, this rank's are [first, first + count).
  index count(index passes) const { return passes / ranks_.size(); }
  index first(index passes) const { return ranks_.rank() * count(passes); }
  /// Before the forward pass and after the backward pass of the i-th of them. During the last one, gradients that are complete are
  /// exchanged with the other ranks.
  void begin_pass(index i, index passes);
  void end_pass(index i, index passes);

  /// Seconds of the exchange of gradients since the last call.
  GradientExchange::Seconds take_exchange_seconds() { return exchange_ ? exchange_->take_seconds() : GradientExchange::Seconds{}; }

  /// After all passes: the norm of the gradient.
  double gradient_norm();
  /// Updates the weights, and clears the gradients. Returns whether all trained weights and all state are finite afterwards, on all ranks.
  bool update(const Update& update);
  /// The weights are the average, or no longer, on all ranks.
  void exchange_average();

  /// The first rank gets all of the optimizer's state; of the gradients too.
  void gather_state();
  void gather_gradients();
  /// Gives the memory of state that this rank does not own back to the system.
  void release_foreign_state();

 private:
  bool is_alone() const { return lanes_ == 1; }
  index of_lane(index passes) const { return passes / lanes_; }

  ParameterStore& store_;
  Optimizer& optimizer_;
  Ranks& ranks_;
  index lanes_;
  Tape& tape_;
  LaneSum sum_;
  std::optional<Ownership> ownership_;
  std::vector<Unit> own_units_;
  std::vector<double> squares_;               // of the parts, in order
  std::vector<double> exchanged_;             // the same, rank by rank, as they are exchanged
  std::vector<OwnedRange> of_ranks_;          // whose numbers are whose
  std::vector<std::size_t> places_;           // of each part, in exchanged_
  std::optional<GradientExchange> exchange_;  // of several ranks
};

}  // namespace dikkat
