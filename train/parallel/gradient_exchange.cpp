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
  for (std::size_t begin = 0; begin < weights.size();) {
    std::size_t end = begin + 1;
    while (end < weights.size() && weights[end].end - weights[begin].begin <= bucket) {
      ++end;
    }
    buckets_.push_back({.parts = std::span(weights).subspan(begin, end - begin)});
    begin = end;
  }
  const auto holds_before = [](const Bucket& one, index element) { return one.parts.back().end <= element; };
  for (ParameterStore::Entry* entry : store.trainable()) {
    const auto first = std::lower_bound(buckets_.begin(), buckets_.end(), entry->offset, holds_before);
    const auto last = std::lower_bound(buckets_.begin(), buckets_.end(), entry->offset + entry->size() - 1, holds_before);
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
    stopping_ = true;
    if (ended_ < queue_.size()) {
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
      go(bucket);
    }
  }
}

void GradientExchange::go(std::size_t bucket) {
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
      go(bucket);
    }
  }
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ == queue_.size() || failure_; });
  seconds_.waiting += seconds_since(start);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  queue_.clear();
  ended_ = 0;
}

GradientExchange::Seconds GradientExchange::take_seconds() {
  const std::lock_guard lock(mutex_);
  return std::exchange(seconds_, {});
}

void GradientExchange::work() {
  const FlushDenormals flushed;  // as the threads of the kernels do, so that sums have the same bits
  try {
    exchange();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

void GradientExchange::exchange() {
  std::array<Ranks::Sum, kUnderWay> sums;
  for (;;) {
    std::size_t begun = 0, ended = 0;  // of the queue
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || ended_ < queue_.size(); });
      if (stopping_) {
        return;
      }
      begun = ended = ended_;
    }
    auto since = Clock::now();
    const auto begin_more = [&] {
      while (begun < ended + sums.size()) {
        std::span<const OwnedRange> parts;
        {
          const std::lock_guard lock(mutex_);
          if (begun >= queue_.size()) {  // or finish() has emptied it
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
      ended_ = ended;
      seconds_.exchanging += seconds_since(std::exchange(since, Clock::now()));
      changed_.notify_all();
    }
  }
}

}  // namespace dikkat
