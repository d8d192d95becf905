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

namespace dikkat {

/// A request whose answer is generated on one thread, while another sends it.
class Job {
 public:
  using Clock = std::chrono::steady_clock;

  /// `model` answers it, and must outlive the job. `prompt` has its tokens. The request has a seed.
  Job(const ServedModel& model, ApiRequest request, std::vector<Token> prompt)
      : model_(model), request_(std::move(request)), prompt_(std::move(prompt)) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const ServedModel& model() const { return model_; }
  const ApiRequest& request() const { return request_; }
  const std::vector<Token>& prompt() const { return prompt_; }

  // Functions for the thread that generates.

  /// Returns the seconds since the request arrived.
  double age() const { return seconds_since(arrived_); }
  /// Records that its generation begins.
  void begin();
  /// Counts a token that has been generated. `prompt_cached` tokens of the prompt were not read for its choice.
  void note_token(index prompt_cached = 0);
  void give(Piece piece);
  /// Ends the answer after its last piece.
  void end();
  /// Ends an answer that cannot be generated, or was interrupted.
  void fail(const ApiError& error);
  /// Whether no client waits for the answer any more.
  bool is_cancelled() const { return cancelled_; }

  // Functions for the thread that sends.

  void cancel() { cancelled_ = true; }
  /// Waits for pieces, at most for `moment`, and removes them from the job.
  std::vector<Piece> take(std::chrono::milliseconds moment);
  /// Whether the answer has ended and all its pieces have been taken. Throws the error of fail().
  bool is_over() const;

  // Functions for both.

  /// Returns the number of tokens so far, for all choices.
  index generated() const { return usage().completion; }
  /// Returns what the answer has taken so far.
  Usage usage() const;
  /// Returns the seconds from its arrival to its first token, or to now if there is none.
  double first_token() const;

 private:
  const ServedModel& model_;
  const ApiRequest request_;
  const std::vector<Token> prompt_;
  const Clock::time_point arrived_ = Clock::now();
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Piece> pieces_;
  bool ended_ = false;
  std::optional<ApiError> error_;
  index generated_ = 0;
  std::optional<index> cached_;  // the fewest tokens of the prompt that were cached for a choice
  std::optional<Clock::time_point> began_, first_token_, last_token_;
};

/// The jobs that wait for the thread that generates, in the order in which they came.
class JobQueue {
 public:
  explicit JobQueue(std::size_t most_waiting) : most_waiting_(most_waiting) {}

  /// Throws ApiError, a 503, if too many wait, or the queue is closed.
  void add(std::shared_ptr<Job> job);
  /// Returns the first job whose client still waits, or nullptr if none has come after `moment`.
  std::shared_ptr<Job> take(std::chrono::milliseconds moment);
  /// Fails the jobs that wait. No more are accepted.
  void close();
  bool is_closed() const;
  std::size_t waiting() const;

 private:
  std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool closed_ = false;
};

/// The error for clients when the server ends.
ApiError server_ends();

}  // namespace dikkat
