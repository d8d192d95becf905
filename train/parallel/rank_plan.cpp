#include "train/parallel/rank_plan.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/parallel/lane_sum.h"

namespace dikkat {

RankPlan plan_ranks(const SharedRun& run, int ranks, double gigabits, double speed) {
  require(ranks >= 1 && run.lanes % ranks == 0, "plan of ranks: ", ranks, " ranks and ", run.lanes,
          " lanes, expected ranks that divide the lanes");
  RankPlan plan{.ranks = ranks, .late = run.late};
  plan.memory = run.weights + run.gradients * static_cast<double>(1 + LaneSum::slabs(run.lanes / ranks)) + run.state / ranks;
  plan.sent = 2 * run.gradients * (ranks - 1) / ranks;  // gradients to their owners, and weights from them
  plan.exchange_seconds = plan.sent * 8 / (gigabits * 1e9);
  const double computing = run.step_seconds / ranks / speed;
  const double backward = computing / (run.passes / ranks) * 2 / 3;
  plan.hidden_seconds = std::min(plan.exchange_seconds / 2 * (1 - run.late), backward);
  plan.step_seconds = computing + plan.exchange_seconds - plan.hidden_seconds;
  plan.tokens_per_second = run.tokens / plan.step_seconds;
  plan.efficiency = computing / plan.step_seconds;
  return plan;
}

}  // namespace dikkat
