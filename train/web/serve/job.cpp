#include "train/web/serve/job.h"

#include <algorithm>

namespace dikkat::serve {
namespace {

double seconds_between(Job::Clock::time_point begin, Job::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void Job::begin() {
  const std::lock_guard lock(mutex_);
  began_ = Clock::now();
}

void Job::note_tokens(index count, index choice, index prompt_cached) {
  const std::lock_guard lock(mutex_);
  generated_ += count;
  std::optional<index>& cached = cached_[prompt_of(choice)];
  cached = std::min(cached.value_or(prompt_cached), prompt_cached);
  last_token_ = Clock::now();
  first_token_ = first_token_.value_or(*last_token_);
}

void Job::give(AnswerDelta piece) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  news_.notify_one();
}

void Job::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  news_.notify_one();
}

void Job::fail(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  error_ = error;
  ended_ = true;
  news_.notify_one();
}

std::vector<AnswerDelta> Job::take(std::chrono::milliseconds moment) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, moment, [&] { return !pieces_.empty() || ended_; });
  return std::exchange(pieces_, {});
}

bool Job::is_over() const {
  const std::lock_guard lock(mutex_);
  if (ended_ && pieces_.empty() && error_) {
    throw ApiError(*error_);
  }
  return ended_ && pieces_.empty();
}

Usage Job::usage() const {
  const std::lock_guard lock(mutex_);
  Usage usage{.completion = generated_};
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    usage.prompt += std::ssize(prompts_[i]);
    usage.cached += cached_[i].value_or(0);
  }
  if (first_token_) {
    usage.reading = seconds_between(began_.value_or(arrived_), *first_token_);
    usage.generating = seconds_between(*first_token_, *last_token_);
  }
  return usage;
}

double Job::first_token() const {
  const std::lock_guard lock(mutex_);
  return seconds_between(arrived_, first_token_.value_or(Clock::now()));
}

void JobQueue::add(std::shared_ptr<Job> job) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    throw server_ends();
  }
  if (waiting_.size() >= most_waiting_) {
    std::erase_if(waiting_, [](const auto& one) { return one->is_canceled(); });
  }
  if (waiting_.size() >= most_waiting_) {
    throw ApiError(503,
                   concat("the queue is full: ", most_waiting_, most_waiting_ == 1 ? " request waits" : " requests wait",
                          ", the most that this server accepts; try again in a moment"),
                   "", "overloaded");
  }
  waiting_.push_back(std::move(job));
  news_.notify_one();
}

std::shared_ptr<Job> JobQueue::take(std::chrono::milliseconds moment) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, moment, [&] { return !waiting_.empty() || closed_ || is_woken_; });
  is_woken_ = false;
  while (!waiting_.empty()) {
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    if (!job->is_canceled()) {
      return job;
    }
  }
  return nullptr;
}

void JobQueue::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  news_.notify_one();
}

void JobQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& job : waiting_) {
    job->fail(server_ends());
  }
  waiting_.clear();
  news_.notify_all();
}

bool JobQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t JobQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

ApiError server_ends() { return {503, "the server is shutting down: try again when it runs", "", "shutting_down"}; }

}  // namespace dikkat::serve
