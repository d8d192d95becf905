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

  Clock::time_point arrived() const { return arrived_; }

  // Functions for the thread that generates.

  void give(Piece piece);
  /// Ends the answer after its last piece. `seconds` is the time that it took.
  void end(index generated, double seconds);
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
  index generated() const;  // valid once it is over
  double seconds() const;   // valid once it is over

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
  double seconds_ = 0;
};

/// The jobs that wait for the thread that generates, in the order in which they came.
class JobQueue {
 public:
  explicit JobQueue(std::size_t most_waiting) : most_waiting_(most_waiting) {}

  /// Throws ApiError, a 503, if too many wait, or the queue is closed.
  void add(std::shared_ptr<Job> job);
  /// Calls `work` for one job after another on this thread, until `stop`, which is called several times a second, returns true. Then the
  /// queue is closed, and the jobs that wait fail.
  void run(const std::function<bool()>& stop, const std::function<void(Job&)>& work);
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
