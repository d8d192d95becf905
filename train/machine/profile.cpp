#include "train/machine/profile.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"

namespace dikkat {
namespace {

constexpr index kWarmup = 2;  // steps

}  // namespace

void Profile::add(Rows& rows, const char* name, Clock::time_point start, double flops, double bytes) {
  const double seconds = seconds_since(start);
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return std::strcmp(r.name, name) == 0; });
  if (row == rows.end()) {
    row = rows.insert(row, Row{.name = name});
  }
  ++row->calls;
  row->seconds += seconds;
  row->flops += flops;
  row->bytes += bytes;
}

void Profile::forward_ends(const OpRun& run) {
  const Clock::time_point start = start_;
  add(forward_, run.op, start, run.cost.forward.flops, run.cost.forward.bytes);
}

void Profile::backward_ends(const OpRun& run) {
  const Clock::time_point start = start_;
  add(backward_, run.op, start, run.cost.backward.flops, run.cost.backward.bytes);
}

void Profile::step_begins() {
  if (seen_++ == kWarmup) {
    for (Rows* rows : {&forward_, &backward_, &pieces_}) {
      rows->clear();
    }
    steps_ = 0;
    seconds_ = 0;
  }
}

void Profile::step_ends(double seconds) {
  ++steps_;
  seconds_ += seconds;
}

std::string Profile::rows_of(const char* title, Rows rows) const {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  Row all{.name = title};
  std::string text;
  const auto line = [&](const Row& r, const char* indent) {
    const double rate = std::max(r.flops, r.flops > 0 ? 0 : r.bytes) / r.seconds * 1e-9;
    text += fmt::format("{:<24}{:>8.1f}{:>11.3f}{:>8.1f}%{}\n", std::string(indent) + r.name,
                        static_cast<double>(r.calls) / static_cast<double>(steps_), r.seconds / static_cast<double>(steps_) * 1e3,
                        r.seconds / seconds_ * 100, rate > 0 ? fmt::format("{:>9.1f} {}", rate, r.flops > 0 ? "GFLOP/s" : "GB/s") : "");
  };
  for (const Row& r : rows) {
    all.calls += r.calls;
    all.seconds += r.seconds;
  }
  line(all, "");
  for (const Row& r : rows) {
    line(r, "  ");
  }
  return text;
}

std::string Profile::table() const {
  if (steps_ == 0) {
    return "profile: no step was run";
  }
  double known = 0;
  for (const Rows* rows : {&forward_, &backward_, &pieces_}) {
    for (const Row& r : *rows) {
      known += r.seconds;
    }
  }
  const double rest = std::max(seconds_ - known, 0.0);
  return fmt::format("profile of {} step{}, {:.3f} ms each\n{:<24}{:>8}{:>11}{:>9}{:>10}\n", steps_, steps_ == 1 ? "" : "s",
                     seconds_ / static_cast<double>(steps_) * 1e3, "", "calls", "ms a step", "share", "rate") +
         rows_of("forward", forward_) + rows_of("backward", backward_) + rows_of("once a step", pieces_) +
         fmt::format("{:<24}{:>8}{:>11.3f}{:>8.1f}%", "other", "", rest / static_cast<double>(steps_) * 1e3, rest / seconds_ * 100);
}

}  // namespace dikkat
