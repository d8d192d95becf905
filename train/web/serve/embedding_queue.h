#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// The texts whose vectors clients wait for. They are computed on the thread that generates answers, between two of its steps. Texts of
/// several requests share a pass of the model, except those of a classifier: it reads all texts of a request, and only these, because the
/// bits of its logits depend on the others.
class EmbeddingQueue {
 public:
  /// `wake` makes the generating thread call step() soon.
  EmbeddingQueue(std::size_t most_waiting, std::function<void()> wake) : most_waiting_(most_waiting), wake_(std::move(wake)) {}

  /// Returns the vectors of texts, (texts, C), when they are computed. Each text has 1 token or more, and fits into the model's context.
  /// Call it on a client's thread. `patience`, which is called at intervals, throws if there is no reason to wait any longer. Throws
  /// ApiError, a 503, if too many requests wait, and the error of the computation.
  std::vector<float> vectors(const ServedModel& model, std::vector<std::vector<Token>> texts, const std::function<void()>& patience);

  /// Computes the vectors of the first texts, about kTokensAtOnce tokens of one model, or a classifier's first request. Call it on the
  /// generating thread. Returns whether others wait.
  bool step();

  static constexpr index kTokensAtOnce = 1024;

 private:
  struct Request {
    const ServedModel& model;
    std::vector<std::vector<Token>> texts;
    std::vector<float> vectors{};
    std::size_t next = 0;  // the first text that is not being computed
    bool is_canceled = false, is_done = false;
    std::exception_ptr failure{};
  };
  std::vector<std::shared_ptr<Request>> take(std::vector<std::vector<Token>>& texts);

  const std::size_t most_waiting_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::shared_ptr<Request>> waiting_;  // those with texts that are not being computed
};

}  // namespace dikkat::serve
