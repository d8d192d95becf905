#include "train/cli/progress.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "train/cli/streams.h"
#include "train/cli/text.h"

namespace dikkat {
namespace {

constexpr auto kRedrawn = std::chrono::milliseconds(100);
constexpr auto kMoment = std::chrono::milliseconds(1500);
constexpr auto kQuietly = std::chrono::milliseconds(10000);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

PassingLine::PassingLine()
    : terminal_(::isatty(STDERR_FILENO) == 1), due_(std::chrono::steady_clock::now() + kMoment), start_(std::chrono::steady_clock::now()) {}

PassingLine::~PassingLine() {
  if (shown_ && terminal_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void PassingLine::show(const std::string& what, double bytes, double share) {
  const auto now = std::chrono::steady_clock::now();
  if (what != what_) {
    what_ = what;
    start_ = now;
  }
  if (now < due_) {
    return;
  }
  due_ = now + (terminal_ ? kRedrawn : kQuietly);
  shown_ = true;
  const double seconds = seconds_since(start_);
  std::string line = what;
  if (bytes > 0) {
    line += fmt::format("  {}  {}/s", short_bytes(bytes), short_bytes(bytes / std::max(seconds, 1e-3)));
  }
  if (share > 0) {
    line += fmt::format("  {:.0f}%  {} left", share * 100, clock_time(seconds * (1 - share) / share));
  }
  if (terminal_) {
    std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  } else {
    tell(line);
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
    : max_steps_(trainer.config().train.max_steps),
      log_interval_(trainer.config().train.log_interval),
      first_step_(trainer.state().step),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { show(""); }

void Progress::show(const std::string& line) {
  if (terminal_) {
    std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  }
}

void Progress::print(const std::string& line) {
  show("");
  tell(line);
}

void Progress::stepped(const StepReport& r) {
  const double left = seconds_since(start_) / static_cast<double>(r.step - first_step_) * static_cast<double>(max_steps_ - r.step);
  last_ = fmt::format("step {:>6}/{}  loss {:.4f}  norm {:.3f}  lr {:.2e}  {:.1f} ms  {} tokens/s  gemm {:.0f}%  {} left", r.step,
                      max_steps_, r.loss, r.gradient_norm, r.learning_rate, r.seconds * 1e3,
                      grouped_digits(static_cast<index>(r.tokens_per_second())), r.gemm_share * 100, clock_time(left));
  const bool due = r.step == first_step_ + 1 || r.step == max_steps_ || r.step % log_interval_ == 0;
  if (!terminal_) {
    if (due) {
      print(last_);
    }
  } else if (const auto now = std::chrono::steady_clock::now(); now - shown_ > kRedrawn || r.step == max_steps_) {
    shown_ = now;
    show(last_);
  }
}

void Progress::evaluating(double share_done) {
  if (const auto now = std::chrono::steady_clock::now(); now - shown_ > kRedrawn) {
    shown_ = now;
    show(fmt::format("{}  evaluating {:.0f}%", last_, share_done * 100));
  }
}

void Progress::evaluated(const EvaluationReport& r) {
  const std::string error = std::isnan(r.val_standard_error) ? "" : fmt::format(" +- {:.4f}", r.val_standard_error);
  print(fmt::format("step {:>6}/{}  train loss {:.4f}  validation loss {:.4f}{}{}", r.step, max_steps_, r.train_loss, r.val_loss, error,
                    r.best ? "  (best so far)" : ""));
}

void Progress::saved(const SavedCheckpoint& saved) {
  failed_.clear();
  if (saved.step() == max_steps_) {
    print(fmt::format("saved {} ({})", saved.path().string(), short_bytes(static_cast<double>(saved.bytes()))));
  }
}

void Progress::skipped(const std::string& what) { print("warning   " + what); }

void Progress::write_failed(const std::string& what) {
  if (what != failed_) {
    failed_ = what;
    print("warning   " + what + "; the run goes on without (train.on_failed_save)");
  }
}

}  // namespace dikkat
