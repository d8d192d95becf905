#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "autograd/tape/tape.h"
#include "train/parallel/ranks.h"

namespace dikkat {

/// Sums the gradients of all ranks on a thread of its own, in buckets. A bucket goes as soon as its gradients are complete, while the
/// backward pass computes others. Buckets become complete in the same order on all ranks, because their tapes are equal.
class GradientExchange : public GradientWatcher {
 public:
  static constexpr index kBucket = 1 << 22;    // elements
  static constexpr std::size_t kUnderWay = 8;  // buckets at once: MPI asks the other side before a message flows, and others flow meanwhile

  /// Keeps references. `weights`: what each rank owns. `ready(begin, end)` is called for each bucket before it goes, on the thread that
  /// computes: this rank's gradients of these elements are complete.
  GradientExchange(ParameterStore& store, Ranks& ranks, const std::vector<OwnedRange>& weights, std::function<void(index, index)> ready,
                   index bucket = kBucket);
  ~GradientExchange() override;

  /// Before the forward pass whose backward pass completes the gradients, which this then watches. Nobody else exchanges anything until
  /// finish().
  void begin();
  void gradient_complete(ParameterGradient& gradient) override;
  /// After the backward pass: exchanges what it did not complete, and waits for all sums. Throws what the exchange has thrown.
  void finish();

  /// Seconds in which a bucket was under way, and in which finish() waited, since the last call.
  struct Seconds {
    double exchanging = 0, waiting = 0;
  };
  Seconds take_seconds();

 private:
  struct Bucket {
    std::span<const OwnedRange> parts;
    int open = 0;  // parameters that are not complete
    int parameters = 0;
  };
  void go(std::size_t bucket);
  void work();
  void exchange();

  ParameterStore& store_;
  Ranks& ranks_;
  std::function<void(index, index)> ready_;
  std::vector<Bucket> buckets_;
  struct Place {
    ParameterStore::Entry* entry;
    std::size_t first, last;  // of its buckets
  };
  std::unordered_map<const ParameterGradient*, Place> places_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> queue_;  // buckets of this step, in the order in which they go; the first ended_ have arrived
  std::size_t ended_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  Seconds seconds_;
  std::thread courier_;  // last: it uses the others
};

}  // namespace dikkat
