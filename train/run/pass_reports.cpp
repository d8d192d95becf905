#include "train/run/pass_reports.h"

#include "train/system/machine_memory.h"

namespace dikkat {

PassReports::PassReports(const Objective& objective, index most) : objective_(objective), count_(objective.sums()) {
  losses_.reserve(static_cast<std::size_t>(most));
  sums_.reserve(static_cast<std::size_t>(most) * count_);
}

void PassReports::begin(index passes) {
  losses_.assign(static_cast<std::size_t>(passes), 0);
  sums_.assign(static_cast<std::size_t>(passes) * count_, 0);
}

void PassReports::add(DataParallelStep& step, Ranks& ranks, double seconds, StepReport& report) {
  for (const auto& rank : step.share_losses(losses_, seconds, [] { return static_cast<double>(process_memory().resident); })) {
    report.rank_seconds.push_back(rank.seconds);
    report.rank_memory.push_back(rank.memory);
  }
  for (const double loss : losses_) {
    report.loss += loss;
  }
  if (count_ == 0) {
    return;
  }
  if (ranks.size() > 1) {
    ranks.share_equally<double>(sums_);
  }
  std::vector<double> total(count_, 0.0);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    total[i % count_] += sums_[i];
  }
  objective_.report(total, report);
}

}  // namespace dikkat
