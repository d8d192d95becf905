#pragma once

#include <cstddef>

namespace dikkat {

/// What a run is that ranks would share.
struct SharedRun {
  double weights = 0, gradients = 0, state = 0;  // bytes of one process: all weights, a slab of gradients, all of the optimizer's state
  int lanes = 1;
  double step_seconds = 0;  // of one process, alone
  double tokens = 0;        // of a step
  double passes = 1;        // micro-batches of a step
  double late = 0;          // the share of the gradients that is complete only at the end of the backward pass: of embeddings
};

/// What each of several ranks needs, and how fast they are together, computed: each is like the machine that the run was tried on, and the
/// network carries what it says. Gradients travel beside the backward pass of the last micro-batch, which is two thirds of its time, but
/// for those that are late.
struct RankPlan {
  int ranks = 1;
  double memory = 0;            // bytes for weights, gradients and optimizer state
  double sent = 0;              // bytes a step, by each rank: it receives as many
  double exchange_seconds = 0;  // of a step,
  double hidden_seconds = 0;    // and of that, beside the backward pass
  double late = 0;              // the share of the gradients that cannot be hidden
  double step_seconds = 0;
  double tokens_per_second = 0;
  double efficiency = 1;  // the share of the step that is computing
};

/// The ranks divide the lanes; the network carries `gigabits` a second in each direction; each rank computes `speed` times as fast as the
/// run was tried.
RankPlan plan_ranks(const SharedRun& run, int ranks, double gigabits, double speed = 1);

}  // namespace dikkat
