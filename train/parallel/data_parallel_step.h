#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "train/parallel/gradient_exchange.h"
#include "train/parallel/lane_sum.h"
#include "train/parallel/ranks.h"

namespace dikkat {

/// This rank's part of each training step: which micro-batches it computes, and which weights it updates. With one rank and one lane it
/// computes and updates everything, in the order of a program without lanes.
class DataParallelStep {
 public:
  /// Keeps references. The passes run on `tape`. Throws InputError unless the number of ranks divides the number of lanes.
  DataParallelStep(ParameterStore& store, Optimizer& optimizer, Ranks& ranks, index lanes, Tape& tape,
                   index bucket = GradientExchange::kBucket);

  /// Maps the memory for the sums of lanes.
  void reserve() { sum_.reserve(); }
  /// Touches the optimizer's state in the shares in which threads update it, so that each share lies near its thread. A rank that owns only
  /// a part of the state touches nothing.
  void touch_state();

  /// This rank computes micro-batches [first, first + count) of a step's `passes`.
  index count(index passes) const { return passes / ranks_.size(); }
  index first(index passes) const { return ranks_.rank() * count(passes); }
  /// Call before the forward pass and after the backward pass of this rank's i-th micro-batch. During the last one, gradients are exchanged
  /// with the other ranks as they become complete.
  void begin_pass(index i, index passes);
  void end_pass(index i, index passes);

  /// Returns the seconds of the exchange of gradients since the last call.
  GradientExchange::Seconds take_exchange_seconds() { return exchange_ ? exchange_->take_seconds() : GradientExchange::Seconds{}; }

  struct RankReport {
    double seconds = 0;  // how long the rank computed in this step
    double memory = 0;   // its resident bytes
  };
  /// Fills in the losses of the other ranks. `losses` has one loss for each of the step's micro-batches. This rank reports `seconds` and
  /// `memory`. Returns the reports of all ranks; none for a single process, which does not call `memory`.
  std::vector<RankReport> share_losses(std::span<double> losses, double seconds, const std::function<double()>& memory);
  /// Returns the norm of the gradient, after all passes.
  double gradient_norm();
  /// Updates the weights, and clears the gradients. Returns whether all trained weights and all state are finite afterwards, on all ranks.
  bool update(const Update& update);
  /// Swaps the weights and their moving average on all ranks. Call it again to swap back.
  void exchange_average();

  /// Sends all of the optimizer's state to the first rank.
  void gather_state();
  /// Sends all gradients to the first rank.
  void gather_gradients();
  /// Returns the memory of state that this rank does not own to the system.
  void release_foreign_state();

 private:
  bool has_one_lane() const { return lanes_ == 1; }
  index passes_per_lane(index passes) const { return passes / lanes_; }

  ParameterStore& store_;
  Optimizer& optimizer_;
  Ranks& ranks_;
  index lanes_;
  Tape& tape_;
  LaneSum sum_;
  std::optional<Ownership> ownership_;
  std::vector<Unit> units_;                   // the units that this rank updates
  std::vector<double> squares_;               // sums of squares of the parts, in the order of the parts
  std::vector<double> squares_by_rank_;       // the sums in the order of their owners, as they are exchanged
  std::vector<OwnedRange> squares_of_ranks_;  // each rank's range in squares_by_rank_
  std::vector<std::size_t> places_;           // each part's place in squares_by_rank_
  std::vector<double> rank_reports_;          // each rank's losses, seconds and memory
  std::optional<GradientExchange> exchange_;  // absent for a single rank
};

}  // namespace dikkat
