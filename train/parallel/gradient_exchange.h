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

/// Sums the gradients of all ranks in buckets, on a separate thread. A bucket is sent as soon as its gradients are complete, while the
/// backward pass computes others. Buckets become complete in one order on all ranks, because their tapes are equal.
class GradientExchange : public GradientWatcher {
 public:
  static constexpr index kBucket = 1 << 22;  // elements
  // Buckets in flight. MPI asks the receiver before it sends a long message, and other buckets flow meanwhile.
  static constexpr std::size_t kInFlight = 8;

  /// Keeps references. `weights` has the ranges that each rank owns. Before a bucket is sent, `ready(begin, end)` is called on the
  /// computing thread: this rank's gradients of these elements are complete.
  GradientExchange(ParameterStore& store, Ranks& ranks, const std::vector<OwnedRange>& weights, std::function<void(index, index)> ready,
                   index bucket = kBucket);
  ~GradientExchange() override;

  /// Call before the last micro-batch. From then until finish(), no other code may communicate.
  void begin();
  void gradient_complete(ParameterGradient& gradient) override;
  /// Call after the backward pass. Exchanges the gradients that it did not complete, and waits for all sums. Rethrows an error of the
  /// exchange.
  void finish();

  struct Seconds {
    double exchanging = 0;  // time with a bucket in flight
    double waiting = 0;     // time in finish()
  };
  /// Returns the seconds since the last call.
  Seconds take_seconds();

 private:
  struct Bucket {
    std::span<const OwnedRange> parts;
    int open = 0;  // parameters whose gradients are not complete
    int parameters = 0;
  };
  void queue(std::size_t bucket);
  void work();
  void exchange();

  ParameterStore& store_;
  Ranks& ranks_;
  std::function<void(index, index)> ready_;
  std::vector<Bucket> buckets_;
  struct Place {
    ParameterStore::Entry* entry;
    std::size_t first, last;  // bucket
  };
  std::unordered_map<const ParameterGradient*, Place> places_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> queue_;  // buckets of this step, in the order of sending
  std::size_t sums_done_ = 0;       // buckets of the queue whose sum is complete
  bool is_stopping_ = false;
  std::exception_ptr failure_;
  Seconds seconds_;
  std::thread courier_;  // last, because it uses the other members
};

}  // namespace dikkat
