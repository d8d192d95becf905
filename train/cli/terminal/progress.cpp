#include "train/cli/terminal/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "autograd/base/seconds_since.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"

namespace dikkat {
namespace {

/// Formats a number; "-" for NaN, such as the margin if all answers are good.
std::string number_or_dash(double number, int digits) { return std::isnan(number) ? "-" : fmt::format("{:.{}f}", number, digits); }

constexpr auto kRedrawn = std::chrono::milliseconds(100);
constexpr auto kMoment = std::chrono::milliseconds(1500);
constexpr auto kQuietly = std::chrono::milliseconds(10000);

std::string amount(double number, PassingLine::Unit unit) {
  return unit == PassingLine::Unit::bytes ? short_bytes(number) : grouped_digits(static_cast<index>(number)) + " tokens";
}

}  // namespace

PassingLine::PassingLine()
    : terminal_(terminal_columns() > 0), due_(std::chrono::steady_clock::now() + kMoment), start_(std::chrono::steady_clock::now()) {}

PassingLine::~PassingLine() { clear(); }

void PassingLine::clear() {
  if (shown_ && terminal_) {
    std::fputs("\r\x1b[K", stderr);
  }
  shown_ = false;
}

void PassingLine::show(const std::string& what, double done, double share, Unit unit) {
  const auto now = std::chrono::steady_clock::now();
  if (what != what_) {
    what_ = what;
    start_ = now;
  }
  if (now < due_ || is_quiet()) {
    return;
  }
  due_ = now + (terminal_ ? kRedrawn : kQuietly);
  shown_ = true;
  const double seconds = seconds_since(start_);
  std::vector<LinePart> parts = {{what, 4}};
  if (done > 0) {
    parts.push_back({amount(done, unit), 2});
    parts.push_back({amount(done / std::max(seconds, 1e-3), unit) + "/s", 1});
  }
  if (share > 0) {
    parts.push_back({fmt::format("{:.0f}%  {} left", share * 100, clock_time(seconds * (1 - share) / share)), 3});
  }
  const std::string line = fitted(std::move(parts), terminal_columns());
  if (terminal_) {
    std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  } else {
    print_message(line);
  }
}

void LoadingLine::operator()(const LoadingReport& r) {
  if (r.stage == LoadingReport::Stage::opening) {
    announce_standard_input("the corpus");
    return;
  }
  const char* what = r.stage == LoadingReport::Stage::reading    ? "reading the corpus"
                     : r.stage == LoadingReport::Stage::learning ? "learning the tokenizer"
                                                                 : "tokenizing";
  line_.show(what, static_cast<double>(r.bytes), r.share);
}

Progress::Progress(const Trainer& trainer)
    : accumulation_(trainer.accumulation()),
      max_steps_(trainer.config().train.max_steps),
      log_interval_(trainer.config().train.log_interval),
      first_step_(trainer.state().step),
      ranks_(trainer.ranks()),
      terminal_(terminal_columns() > 0 && !is_quiet()),
      start_(std::chrono::steady_clock::now()),
      last_{fmt::format("step {:>6}/{}", first_step_, max_steps_), 9} {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (terminal_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void Progress::show(std::vector<LinePart> parts) {
  clear();
  if (terminal_) {
    std::fputs(fitted(std::move(parts), terminal_columns()).c_str(), stderr);
  }
}

std::vector<LinePart> Progress::line_of(const StepReport& r) const {
  const double left = seconds_since(start_) / static_cast<double>(accumulation_.passes(first_step_, r.step)) *
                      static_cast<double>(accumulation_.passes(r.step, max_steps_));
  std::vector<LinePart> parts = {{fmt::format("step {:>6}/{}", r.step, max_steps_), 9},
                                 {fmt::format("loss {:.4f}", r.loss), 8},
                                 {fmt::format("norm {:.3f}", r.gradient_norm), 5},
                                 {fmt::format("lr {:.2e}", r.learning_rate), 3},
                                 {fmt::format("{:.1f} ms", r.seconds * 1e3), 4},
                                 {fmt::format("{} tokens/s", grouped_digits(static_cast<index>(r.tokens_per_second()))), 6}};
  for (const Metric& metric : r.metrics) {
    if (!metric.label.empty()) {
      parts.push_back({concat(metric.label, ' ', number_or_dash(metric.value, 3)), 6});
    }
  }
  if (!std::isnan(r.mfu)) {
    parts.push_back({fmt::format("MFU {:.0f}%", r.mfu * 100), 2});
  }
  parts.push_back({clock_time(left) + " left", 7});
  return parts;
}

void Progress::stepped(const StepReport& r) {
  step_seconds_ += r.seconds;
  optimizer_seconds_ += r.optimizer_seconds;
  exchange_seconds_ += r.exchange_seconds;
  waited_seconds_ += r.waited_seconds;
  rank_memory_ = r.rank_memory;
  ++steps_;
  if (const SlowRank::Found slow = slow_rank_.take(r.rank_seconds); slow.rank >= 0) {
    clear();
    warn_labeled("warning", fmt::format("{} computes for {:.1f} ms of a step, the median rank for {:.1f} ms: all ranks wait for it",
                                        ranks_.name_of(slow.rank), slow.seconds * 1e3, slow.median * 1e3));
  }
  const bool due = r.step == first_step_ + 1 || r.step == max_steps_ || r.step % log_interval_ == 0;
  const auto now = std::chrono::steady_clock::now();
  if (!due && (!terminal_ || now - shown_ < kRedrawn)) {
    return;
  }
  std::vector<LinePart> parts = line_of(r);
  last_ = parts.front();
  if (due) {
    clear();
    print_message(fitted(std::move(parts), terminal_columns()));
  } else {
    shown_ = now;
    show(std::move(parts));
  }
}

void Progress::preparing(std::string_view what, double share_done) {
  if (const auto now = std::chrono::steady_clock::now(); now - shown_ > kRedrawn) {
    shown_ = now;
    show({last_, {fmt::format("{} {:.0f}%", what, share_done * 100), 10}});
  }
}

void Progress::evaluating(double share_done) { preparing("evaluating", share_done); }

void Progress::evaluated(const EvaluationReport& r) {
  constexpr int kIndent = 2;
  losses_fall_ = r.best && r.train_loss < train_loss_;  // false at the first evaluation
  train_loss_ = r.train_loss;
  end_probability_ = r.end_probability;
  const std::string error = std::isnan(r.val_standard_error) ? "" : fmt::format(" +- {:.4f}", r.val_standard_error);
  clear();
  std::string named;
  for (const NamedLoss& one : r.losses) {
    named +=
        fmt::format("  {} {:.4f}", for_terminal(one.name), one.loss) + (one.is_source() ? fmt::format(" (epoch {:.2f})", one.epochs) : "");
  }
  const std::string ends = std::isnan(r.end_probability) ? "" : fmt::format("  ends {:.3g}", r.end_probability);
  std::string metrics;
  for (const Metric& metric : r.metrics) {
    metrics += metric.label.empty() ? "" : concat("  ", metric.label, ' ', number_or_dash(metric.value, 4));
  }
  print_message(fmt::format("step {:>6}/{}  train loss {:.4f}  validation loss {:.4f}{}{}{}{}{}", r.step, max_steps_, r.train_loss,
                            r.val_loss, error, ends, metrics, r.best ? "  (best so far)" : "", named),
                kIndent, "  ");
}

void Progress::saved(const SavedCheckpoint& saved) {
  failed_.clear();
  if (saved.step() == max_steps_) {
    clear();
    print_message(fmt::format("saved {} ({})", saved.path().string(), short_bytes(saved.bytes())), kLabelColumns);
  }
}

std::string Progress::remark_on_ranks() const {
  if (rank_memory_.empty()) {
    return "";
  }
  const auto per_step = [&](double seconds) { return seconds * 1e3 / static_cast<double>(steps_); };
  const auto [least, most] = std::minmax_element(rank_memory_.begin(), rank_memory_.end());
  const std::string low = short_bytes(*least), high = short_bytes(*most);
  return fmt::format(
      "a step took {:.1f} ms on average, of which ranks exchanged for {:.1f} ms and waited for {:.1f} ms; each used {} of memory",
      per_step(step_seconds_), per_step(exchange_seconds_), per_step(waited_seconds_), low == high ? low : concat(low, " to ", high));
}

void Progress::skipped(const std::string& what) {
  clear();
  warn_labeled("warning", what);
}

void Progress::not_sampled(const std::string& what) {
  clear();
  warn_labeled("warning", "no samples were drawn: " + what);
}

std::string Progress::stopped() {
  return stop_signal() == 0 ? "a signal to another rank" : std::string("SIG") + ::sigabbrev_np(stop_signal());
}

void Progress::write_failed(const std::string& what) {
  if (what != failed_) {
    failed_ = what;
    clear();
    warn_labeled("warning", what + "; the run continues without it (train.on_failed_save)");
  }
}

}  // namespace dikkat
