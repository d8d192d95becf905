#include "train/parallel/gradient_exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "autograd/base/denormals.h"
#include "autograd/base/seconds_since.h"

namespace dikkat {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

GradientExchange::GradientExchange(ParameterStore& store, Ranks& ranks, const std::vector<OwnedRange>& weights,
                                   std::function<void(index, index)> ready, index bucket)
    : store_(store), ranks_(ranks), ready_(std::move(ready)) {
  // Buckets of consecutive ranges.
  for (std::size_t begin = 0; begin < weights.size();) {
    std::size_t end = begin + 1;
    while (end < weights.size() && weights[end].end - weights[begin].begin <= bucket) {
      ++end;
    }
    buckets_.push_back({.parts = std::span(weights).subspan(begin, end - begin)});
    begin = end;
  }

  // The buckets of each parameter.
  const auto ends_before = [](const Bucket& one, index element) { return one.parts.back().end <= element; };
  for (ParameterStore::Entry* entry : store.trainable()) {
    const auto first = std::lower_bound(buckets_.begin(), buckets_.end(), entry->offset, ends_before);
    const auto last = std::lower_bound(buckets_.begin(), buckets_.end(), entry->offset + entry->size() - 1, ends_before);
    places_.emplace(&entry->gradient,
                    Place{entry, static_cast<std::size_t>(first - buckets_.begin()), static_cast<std::size_t>(last - buckets_.begin())});
    for (auto at = first; at <= last; ++at) {
      ++at->parameters;
    }
  }
  queue_.reserve(buckets_.size());
  courier_ = std::thread([this] { work(); });
}

GradientExchange::~GradientExchange() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (sums_done_ < queue_.size()) {
      ranks_.cancel();
    }
  }
  changed_.notify_all();
  courier_.join();
}

void GradientExchange::begin() {
  store_.forget_uses();
  for (Bucket& bucket : buckets_) {
    bucket.open = bucket.parameters;
  }
}

void GradientExchange::gradient_complete(ParameterGradient& gradient) {
  const Place& place = places_.at(&gradient);
  store_.complete_gradient(*place.entry);
  for (std::size_t bucket = place.first; bucket <= place.last; ++bucket) {
    if (--buckets_[bucket].open == 0) {
      queue(bucket);
    }
  }
}

void GradientExchange::queue(std::size_t bucket) {
  const std::span<const OwnedRange> parts = buckets_[bucket].parts;
  ready_(parts.front().begin, parts.back().end);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(bucket);
  }
  changed_.notify_all();
}

void GradientExchange::finish() {
  store_.complete_gradients();
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (std::exchange(buckets_[bucket].open, 0) != 0) {
      queue(bucket);
    }
  }
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return sums_done_ == queue_.size() || failure_; });
  seconds_.waiting += seconds_since(start);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  queue_.clear();
  sums_done_ = 0;
}

GradientExchange::Seconds GradientExchange::take_seconds() {
  const std::lock_guard lock(mutex_);
  return std::exchange(seconds_, {});
}

void GradientExchange::work() {
  const FlushDenormals flushed;  // the kernels' threads flush too, so sums have equal bits
  try {
    exchange();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

void GradientExchange::exchange() {
  std::array<Ranks::Sum, kInFlight> sums;
  for (;;) {
    // Wait for a bucket.
    std::size_t begun = 0, ended = 0;  // buckets of the queue
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_stopping_ || sums_done_ < queue_.size(); });
      if (is_stopping_) {
        return;
      }
      begun = ended = sums_done_;
    }

    // Begin sums while there are buckets, at most kInFlight at once, and end them in that order.
    auto since = Clock::now();
    const auto begin_more = [&] {
      while (begun < ended + sums.size()) {
        std::span<const OwnedRange> parts;
        {
          const std::lock_guard lock(mutex_);
          if (begun >= queue_.size()) {  // finish() may have emptied it
            return;
          }
          parts = buckets_[queue_[begun]].parts;
        }
        ranks_.begin_sum(sums[begun++ % sums.size()], parts, store_.gradients<float>());
      }
    };
    for (begin_more(); ended < begun; begin_more()) {
      ranks_.end_sum(sums[ended % sums.size()], begin_more);
      ++ended;
      const std::lock_guard lock(mutex_);
      sums_done_ = ended;
      seconds_.exchanging += seconds_since(std::exchange(since, Clock::now()));
      changed_.notify_all();
    }
  }
}

}  // namespace dikkat
