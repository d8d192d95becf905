#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/sample/scheduler.h"
#include "train/web/serve/answer.h"
#include "train/web/serve/job.h"
#include "train/web/serve/server_metrics.h"

namespace dikkat::serve {

/// Generates the answers of the jobs of a queue, several at once, on the thread that calls run(). A free stream goes to the job with the
/// fewest running choices: the one that began first, or else the one that has waited longest. So jobs begin in the order of arrival, and
/// one with many choices does not keep others from beginning. Jobs leave when their last choice has ended or their client is gone. A
/// failure ends only its own job.
class JobRunner {
 public:
  struct Options {
    Scheduler::Options scheduler{};
    std::chrono::milliseconds grace{0};  // the time that running answers have after a stop
    ServerMetrics* metrics = nullptr;    // counts answers and tokens; may be null
    /// Does other work of the thread between two steps, such as vectors of texts. JobQueue::wake() makes an idle runner call it.
    std::function<void()> other_work{};
    /// Receives a line when the runner is asked to stop and lets running answers end.
    std::function<void(const std::string& line)> log{};
  };

  /// `model` has the shape of all models that answer. Keeps references to it and to `queue`.
  JobRunner(const Gpt& model, JobQueue& queue, Options options);

  /// Answers jobs until `stop`, which is called several times a second and between tokens, returns true. Then the queue is closed, running
  /// answers have the time of Options::grace to end, and the others fail.
  void run(const std::function<bool()>& stop);

 private:
  using Clock = std::chrono::steady_clock;

  /// A job that has begun.
  struct Active {
    std::shared_ptr<Job> job;
    Answer answer;
    index next = 0;                // the choice that begins next
    std::vector<index> samples{};  // the scheduler's numbers of its running choices
    bool is_dropped = false;       // its job has ended; only its samples have to end

    bool has_next() const { return next < answer.choices(); }
  };
  /// A sample of the scheduler.
  struct Choice {
    std::shared_ptr<Active> of;
    index choice;
  };

  bool has_free_stream() const { return scheduler_->running() + scheduler_->waiting() < options_.scheduler.streams; }
  void begin_choices();
  std::shared_ptr<Active> next_active();
  std::shared_ptr<Active> begin(const std::shared_ptr<Job>& job);
  void end_canceled();
  void step();
  void take(const Scheduler::Event& event);
  void drop(Active& active);
  void leave(const Active& active);
  void fail_all(const ApiError& error);
  void end(Job& job);
  void fail(Job& job, const ApiError& error);

  const Gpt& model_;
  JobQueue& queue_;
  const Options options_;
  ServerMetrics own_metrics_;
  ServerMetrics& metrics_;  // those of the options, or own_metrics_
  std::unique_ptr<Scheduler> scheduler_;
  index cached_ = 0;                             // the scheduler's count of cached prompt tokens after the last step
  std::map<index, Choice> choices_;              // the keys are the scheduler's numbers
  std::vector<std::shared_ptr<Active>> active_;  // the jobs that have begun, in this order
};

/// Returns the error for clients that replaces the exception that is being handled.
ApiError error_of_answer();

}  // namespace dikkat::serve
