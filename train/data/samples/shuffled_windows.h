#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "train/data/samples/permutation.h"
#include "train/data/samples/windows.h"

namespace dikkat {

/// TrainingWindows of a stream in which the documents have another order in each epoch (data.order = "shuffled"). A document keeps the
/// separator after it. The last document has none, because the text may end within it, so it stays the last. The order is a function of
/// (seed, epoch). Takes 16 bytes for each document.
class ShuffledWindows : public TrainingWindows {
 public:
  /// Keeps a reference to the store. Throws what TrainingWindows throws.
  ShuffledWindows(const TokenStore& store, index block_size, std::uint64_t seed);

  /// Several threads may call it. If batches reach into more than two epochs in turn, it computes orders again and again.
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  /// The documents of an epoch in their order.
  struct Order {
    index epoch = -1;
    std::vector<index> begins;  // the place in the epoch's stream of each document, and its end
  };
  const Order& order(index epoch) const;
  Permutation documents(index epoch) const;
  template <class F>
  void for_parts(const Order& order, index first, index count, F&& f) const;

  const TokenStore& store_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::array<Order, 2> orders_;  // orders of an even and of an odd epoch
};

}  // namespace dikkat
