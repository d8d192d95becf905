#include "train/data/samples/shuffled_windows.h"

#include <algorithm>
#include <numeric>

#include "autograd/base/error.h"

namespace dikkat {

ShuffledWindows::ShuffledWindows(const TokenStore& store, index block_size, std::uint64_t seed)
    : TrainingWindows(store, block_size, seed), store_(store), seed_(seed) {
  for (Order& order : orders_) {
    order.begins.resize(static_cast<std::size_t>(store.documents()) + 1);
  }
  order(0);
}

Permutation ShuffledWindows::documents(index epoch) const {
  return {std::max<index>(store_.documents() - 1, 1), seed_, static_cast<std::uint64_t>(epoch), "data.documents"};
}

/// Returns the order of an epoch, from memory if the epoch is one of the last two. The mutex must be held.
const ShuffledWindows::Order& ShuffledWindows::order(index epoch) const {
  Order& order = orders_[static_cast<std::size_t>(epoch % 2)];
  if (order.epoch == epoch) {
    return order;
  }
  order.epoch = -1;
  const Permutation number = documents(epoch);
  const index last = store_.documents() - 1;
  index at = 0;
  for (index place = 0; place <= last; ++place) {
    const index document = place == last ? last : number(place);
    order.begins[static_cast<std::size_t>(place)] = at;
    at += store_.document_start(document + 1) - store_.document_start(document);
  }
  order.begins.back() = at;
  order.epoch = epoch;
  return order;
}

/// Calls f(first, count) for each part of the epoch's stream that is one piece of the store, starting at token `first` of the stream.
template <class F>
void ShuffledWindows::for_parts(const Order& order, index first, index count, F&& f) const {
  const Permutation number = documents(order.epoch);
  const index last = store_.documents() - 1;
  const auto next = std::upper_bound(order.begins.begin(), order.begins.end(), first);
  for (auto place = static_cast<index>(next - order.begins.begin()) - 1; count > 0; ++place) {
    const index begin = order.begins[static_cast<std::size_t>(place)], end = order.begins[static_cast<std::size_t>(place) + 1];
    const index some = std::min(count, end - first);
    f(store_.document_start(place == last ? last : number(place)) + first - begin, some);
    first += some;
    count -= some;
  }
}

void ShuffledWindows::fill(index epoch, index sample, index row, Batch& batch) const {
  require(0 <= sample && sample < count(), "windows: window ", sample, ", expected 0 to ", count() - 1);
  const index cols = longest().cols;
  const index begin = offset(epoch) + sample * cols;
  Token* const inputs = batch.inputs.data() + row * batch.lengths.cols;
  Token* const targets = batch.targets.data() + row * batch.lengths.cols;
  float* const weights = batch.weights.data() + row * batch.lengths.cols;
  std::int64_t* const numbers = batch.numbers.data() + row * batch.lengths.cols;
  {
    const std::lock_guard lock(mutex_);
    const Order& documents = order(epoch);
    // A target has the index of its input, and so the distribution that a teacher expected after this input.
    for_parts(documents, begin, cols, [&, at = index{0}](index first, index some) mutable {
      store_.read(first, some, inputs + at);
      std::iota(numbers + at, numbers + at + some, first);
      at += some;
    });
    for_parts(documents, begin + 1, cols, [&, at = index{0}](index first, index some) mutable {
      store_.read(first, some, targets + at);
      at += some;
    });
  }
  std::fill_n(weights, cols, 1.0F);
  batch.pad(row, cols);  // a batch has longer rows if another source has
  batch.target_weight += static_cast<double>(cols);
}

}  // namespace dikkat
