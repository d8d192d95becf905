#include "train/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

std::size_t at(index i) { return static_cast<std::size_t>(i); }

/// Returns the combinations of these results that continue, in the order of the grid.
std::vector<index> best_of(std::vector<LegResult> results, index count) {
  std::erase_if(results, [](const LegResult& r) { return r.failed(); });
  std::stable_sort(results.begin(), results.end(), [](const LegResult& a, const LegResult& b) { return is_better(a.score(), b.score()); });
  results.resize(std::min(results.size(), at(count)));
  std::vector<index> best;
  for (const LegResult& result : results) {
    best.push_back(result.leg.combination);
  }
  std::sort(best.begin(), best.end());
  return best;
}

/// Computes mean and standard error over seeds.
void average(Standing& standing, const std::vector<LegResult>& results) {
  const auto n = static_cast<double>(results.size());
  double sum = 0, accuracies = 0;
  double squares = 0;
  for (const LegResult& r : results) {
    sum += r.loss;
    accuracies += r.accuracy;
  }
  standing.loss = sum / n;
  standing.accuracy = accuracies / n;
  standing.decided_by = results.front().decided_by;
  for (const LegResult& r : results) {
    squares += (r.loss - standing.loss) * (r.loss - standing.loss);
  }
  standing.standard_error = results.size() == 1 ? results.front().standard_error : std::sqrt(squares / (n - 1) / n);
}

}  // namespace

std::vector<index> SweepPlan::rungs() const {
  std::vector<index> rungs;
  if (eta >= 2 && !max_steps.empty()) {
    const index last = max_steps.front();
    for (index divisor = eta; divisor <= combinations() && ceil_div(last, divisor) < (rungs.empty() ? last : rungs.back());
         divisor *= eta) {
      rungs.push_back(ceil_div(last, divisor));
    }
  }
  std::reverse(rungs.begin(), rungs.end());
  return rungs;
}

std::pair<const LegResult*, const LegResult*> find_incomparable(const std::vector<LegResult>& ended) {
  const LegResult* first = nullptr;
  for (const LegResult& one : ended) {
    if (one.scored.empty()) {
      continue;
    }
    if (first != nullptr && one.scored != first->scored) {
      return {first, &one};
    }
    first = first == nullptr ? &one : first;
  }
  return {};
}

bool LegResult::failed() const { return !failure.empty() || !std::isfinite(loss); }

Halving walk(const SweepPlan& plan, std::vector<LegResult>& ended, const std::function<std::optional<LegResult>(const Leg&)>& train) {
  require(!plan.seeds.empty(), "a sweep has no seeds, expected one or more");
  Halving halving{.complete = false, .stopped_at = std::vector<index>(plan.max_steps.size())};
  // Take a leg's earlier result, or train it.
  const auto result_of = [&](const Leg& leg) -> std::optional<LegResult> {
    const auto earlier = std::find_if(ended.begin(), ended.end(), [&](const LegResult& r) { return r.leg == leg; });
    if (earlier != ended.end()) {
      return *earlier;
    }
    std::optional<LegResult> result = train(leg);
    if (result) {
      ended.push_back(*result);
    }
    return result;
  };

  // Train through all rungs with the first seed.
  std::vector<index> left(plan.max_steps.size());
  std::iota(left.begin(), left.end(), index{0});
  const std::vector<index> rungs = plan.rungs();
  for (std::size_t rung = 0; rung <= rungs.size(); ++rung) {
    const bool last = rung == rungs.size();
    std::vector<LegResult> results;
    for (const index combination : left) {
      const auto result = result_of({.combination = combination,
                                     .seed = plan.seeds.front(),
                                     .from = rung == 0 ? 0 : rungs[rung - 1],
                                     .steps = last ? plan.max_steps[at(combination)] : rungs[rung]});
      if (!result) {
        return halving;
      }
      results.push_back(*result);
    }
    // Continue with the best; record where the others stopped.
    const auto count = static_cast<index>(left.size());
    left = best_of(results, last ? count : survivors(count, plan.eta));
    for (const LegResult& r : results) {
      if (!last && !r.failed() && std::find(left.begin(), left.end(), r.leg.combination) == left.end()) {
        halving.stopped_at[at(r.leg.combination)] = static_cast<index>(rung) + 1;
      }
    }
  }

  // Train the combinations that reached the end with the other seeds.
  for (const index seed : std::span(plan.seeds).subspan(1)) {
    for (const index combination : left) {
      if (!result_of({.combination = combination, .seed = seed, .from = 0, .steps = plan.max_steps[at(combination)]})) {
        return halving;
      }
    }
  }
  halving.complete = true;
  return halving;
}

Forecast forecast(const SweepPlan& plan, std::vector<LegResult> ended, std::span<const double> seconds) {
  Forecast left;
  walk(plan, ended, [&](const Leg& leg) {
    const double whole = seconds[at(leg.combination)];
    ++left.legs;
    left.runs += leg.from == 0 ? 1 : 0;
    left.seconds += whole * static_cast<double>(leg.steps - leg.from) / static_cast<double>(plan.max_steps[at(leg.combination)]);
    return std::optional(LegResult{.leg = leg, .step = leg.steps, .loss = -1 - whole, .accuracy = 2});  // better than every other
  });
  return left;
}

std::vector<Standing> standings(const SweepPlan& plan, const std::vector<LegResult>& ended) {
  using State = Standing::State;
  // Walk without training, to find where combinations were stopped.
  std::vector<LegResult> copy = ended;
  const Halving halving = walk(plan, copy, [](const Leg&) { return std::nullopt; });
  std::vector<Standing> all;
  for (index c = 0; c < plan.combinations(); ++c) {
    Standing standing{.combination = c, .rung = halving.stopped_at[at(c)]};

    // Find the furthest leg of each seed.
    std::vector<LegResult> furthest;
    for (const index seed : plan.seeds) {
      double seconds = 0;
      for (const LegResult& r : ended) {
        if (r.leg.combination != c || r.leg.seed != seed) {
          continue;
        }
        seconds = std::max(seconds, r.seconds);
        standing.stage += seed == plan.seeds.front() ? 1 : 0;
        if (r.failed() && standing.failure.empty()) {
          standing.failure = concat(plan.seeds.size() > 1 ? concat("seed ", seed, ": ") : "",
                                    r.failure.empty() ? "the validation loss is not a number" : r.failure);
        }
        if (furthest.empty() || furthest.back().leg.seed != seed) {
          furthest.push_back(r);
        } else if (r.leg.steps > furthest.back().leg.steps) {
          furthest.back() = r;
        }
      }
      standing.seconds += seconds;
    }

    // Compute state and loss.
    for (const LegResult& r : furthest) {
      standing.step = std::max(standing.step, r.step);
    }
    if (!standing.failure.empty()) {
      standing.state = State::failed;
    } else if (!furthest.empty()) {
      for (const LegResult& r : furthest) {
        standing.seeds.push_back(r.leg.seed);
      }
      average(standing, furthest);
      const bool all_done = furthest.size() == plan.seeds.size() && standing.step == plan.max_steps[at(c)];
      standing.state = standing.rung > 0 ? State::stopped : all_done ? State::finished : State::unfinished;
    }
    all.push_back(std::move(standing));
  }

  // Sort the best first.
  std::stable_sort(all.begin(), all.end(), [](const Standing& a, const Standing& b) {
    const auto rank = [](const Standing& s) {
      const bool failed = s.state == State::failed;
      const bool counts = !failed && s.stage > 0;
      return std::tuple(failed, failed ? 0 : -s.stage, counts ? -s.accuracy : 0, counts ? s.loss : 0);
    };
    return rank(a) < rank(b);
  });
  return all;
}

}  // namespace dikkat
