#include "train/web/serve/embedding_queue.h"

#include <algorithm>

#include "train/web/serve/api_error.h"
#include "train/web/serve/job_response.h"
#include "train/web/serve/job_runner.h"

namespace dikkat::serve {

std::vector<float> EmbeddingQueue::vectors(const ServedModel& model, std::vector<std::vector<Token>> texts,
                                           const std::function<void()>& patience) {
  const auto request = std::make_shared<Request>(Request{.model = model, .texts = std::move(texts)});
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) {
      throw ApiError(503, concat(waiting_.size(), " requests wait, the most that this server accepts; try again in a moment"), "",
                     "overloaded");
    }
    waiting_.push_back(request);
  }
  wake_();
  std::unique_lock lock(mutex_);
  while (!request->is_done) {
    if (news_.wait_for(lock, kClientCheck, [&] { return request->is_done; })) {
      break;
    }
    lock.unlock();
    try {
      patience();
    } catch (...) {
      lock.lock();
      request->is_canceled = true;
      throw;
    }
    lock.lock();
  }
  if (request->failure) {
    std::rethrow_exception(request->failure);
  }
  return std::move(request->vectors);
}

/// Moves the next texts out of their requests. Returns the request of each.
std::vector<std::shared_ptr<EmbeddingQueue::Request>> EmbeddingQueue::take(std::vector<std::vector<Token>>& texts) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Request>> owners;
  index tokens = 0;
  while (!waiting_.empty() && tokens < kTokensAtOnce) {
    const std::shared_ptr<Request> request = waiting_.front();
    const bool is_apart = request->model.labels.has_value();
    if (!owners.empty() && (is_apart || &request->model != &owners.front()->model)) {
      break;
    }
    while (!request->is_canceled && request->next < request->texts.size() && (is_apart || tokens < kTokensAtOnce)) {
      texts.push_back(std::move(request->texts[request->next++]));
      tokens += std::ssize(texts.back());
      owners.push_back(request);
    }
    if (request->is_canceled || request->next == request->texts.size()) {
      waiting_.pop_front();
    }
  }
  return owners;
}

bool EmbeddingQueue::step() {
  std::vector<std::vector<Token>> texts;
  const std::vector<std::shared_ptr<Request>> owners = take(texts);
  std::vector<float> computed;
  std::exception_ptr failure;
  try {
    computed = owners.empty() ? computed : owners.front()->model.vectors(texts);
  } catch (const std::exception&) {
    failure = std::make_exception_ptr(error_of_answer());
  }
  // Hand out the vectors. A request that fails leaves the queue.
  const std::lock_guard lock(mutex_);
  const std::size_t width = owners.empty() ? 0 : computed.size() / owners.size();
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Request& request = *owners[i];
    const auto from = computed.begin() + static_cast<std::ptrdiff_t>(i * width);
    request.vectors.insert(request.vectors.end(), from, from + static_cast<std::ptrdiff_t>(width));
    request.failure = failure;
    request.is_canceled = request.is_canceled || failure != nullptr;
    request.is_done = failure != nullptr || request.vectors.size() == request.texts.size() * width;
  }
  news_.notify_all();
  return !waiting_.empty();
}

}  // namespace dikkat::serve
