#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "autograd/base/seconds_since.h"
#include "train/web/serve/api_response.h"
#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// A request whose answer is generated on one thread, while another sends it.
class Job {
 public:
  using Clock = std::chrono::steady_clock;

  /// `model` answers the request, and must outlive the job. `prompts` has the tokens of each prompt. The request must have a seed.
  Job(const ServedModel& model, ApiRequest request, std::vector<std::vector<Token>> prompts)
      : model_(model), request_(std::move(request)), prompts_(std::move(prompts)), cached_(prompts_.size()) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const ServedModel& model() const { return model_; }
  const ApiRequest& request() const { return request_; }
  const std::vector<std::vector<Token>>& prompts() const { return prompts_; }
  /// Returns the number of its choices: ApiRequest::options.num_samples of the first prompt, then of the next one.
  index choices() const { return std::ssize(prompts_) * request_.options.num_samples; }
  /// Returns the index of the prompt of a choice.
  std::size_t prompt_of(index choice) const { return static_cast<std::size_t>(choice / request_.options.num_samples); }

  // Call these functions on the generating thread.

  /// Returns the seconds since the request arrived.
  double age() const { return seconds_since(arrived_); }
  /// Records that its generation begins.
  void begin();
  /// Records that a choice has generated so many tokens more: 1, or 0 when its prompt has been scored. `prompt_cached` is how many tokens
  /// of its prompt came from a cache.
  void note_tokens(index count, index choice = 0, index prompt_cached = 0);
  void give(AnswerDelta piece);
  /// Ends the answer after its last piece.
  void end();
  /// Ends an answer that cannot be generated, or was interrupted.
  void fail(const ApiError& error);
  /// Returns whether no client waits for the answer any longer.
  bool is_canceled() const { return canceled_; }

  // Call these functions on the sending thread.

  void cancel() { canceled_ = true; }
  /// Waits for pieces, at most for `moment`, and removes them from the job.
  std::vector<AnswerDelta> take(std::chrono::milliseconds moment);
  /// Returns whether the answer has ended and all its pieces have been taken. Throws the error of fail().
  bool is_over() const;

  // Call these functions on either thread.

  /// Returns the number of tokens so far, for all choices.
  index generated() const { return usage().completion; }
  /// Returns the tokens and seconds of the answer so far.
  Usage usage() const;
  /// Returns the seconds from its arrival to its first token, or to now if there is none.
  double first_token() const;

 private:
  const ServedModel& model_;
  const ApiRequest request_;
  const std::vector<std::vector<Token>> prompts_;
  const Clock::time_point arrived_ = Clock::now();
  std::atomic<bool> canceled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<AnswerDelta> pieces_;
  bool ended_ = false;
  std::optional<ApiError> error_;
  index generated_ = 0;
  std::vector<std::optional<index>> cached_;  // the fewest tokens of each prompt that were cached for a choice
  std::optional<Clock::time_point> began_, first_token_, last_token_;
};

/// The jobs that wait for the generating thread, in the order in which they came.
class JobQueue {
 public:
  explicit JobQueue(std::size_t most_waiting) : most_waiting_(most_waiting) {}

  /// Throws ApiError, a 503, if too many wait, or the queue is closed.
  void add(std::shared_ptr<Job> job);
  /// Returns the first job whose client still waits, or nullptr if none has come after `moment`.
  std::shared_ptr<Job> take(std::chrono::milliseconds moment);
  /// Makes take() return at once, now or at its next call, because there is something else to do.
  void wake();
  /// Fails the waiting jobs, and accepts no more.
  void close();
  bool is_closed() const;
  std::size_t waiting() const;

 private:
  std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool closed_ = false, is_woken_ = false;
};

/// Returns the error for clients when the server ends.
ApiError server_ends();

}  // namespace dikkat::serve
