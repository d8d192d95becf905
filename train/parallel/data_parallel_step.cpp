#include "train/parallel/data_parallel_step.h"

#include "autograd/base/parallel.h"
#include "optim/clip.h"

namespace dikkat {
namespace {

index own_lanes(index lanes, int ranks) {
  require_input(lanes % ranks == 0, "train.lanes is ", lanes, ", which ", ranks, " processes do not divide, expected at most ", lanes,
                lanes == 1 ? " process" : " processes", ": start fewer, or set train.lanes = ", ranks,
                " and train.gradient_accumulation_steps to a multiple of it");
  return lanes / ranks;
}

}  // namespace

DataParallelStep::DataParallelStep(ParameterStore& store, Optimizer& optimizer, Ranks& ranks, index lanes, Tape& tape, index bucket)
    : store_(store), optimizer_(optimizer), ranks_(ranks), lanes_(lanes), tape_(tape), sum_(store, own_lanes(lanes, ranks.size())) {
  if (is_alone()) {
    return;
  }
  ownership_.emplace(store, optimizer, ranks.size());
  own_units_ = ownership_->units_of(ranks.rank());
  const std::vector<OwnedRange>& parts = ownership_->parts();
  squares_.resize(parts.size());
  exchanged_.resize(parts.size());
  places_.resize(parts.size());
  for (int rank = 0, place = 0; rank < ranks.size(); ++rank) {
    const int first = place;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].owner == rank) {
        places_[i] = static_cast<std::size_t>(place++);
      }
    }
    of_ranks_.push_back({first, place, rank});
  }
  if (ranks.size() > 1) {
    const index last = own_lanes(lanes, ranks.size()) - 1;
    exchange_.emplace(
        store, ranks, ownership_->weights(), [this, last](index begin, index end) { sum_.add_range(last, begin, end); }, bucket);
  }
}

void DataParallelStep::begin_pass(index i, index passes) {
  if (i % of_lane(passes) == 0) {
    sum_.begin(i / of_lane(passes));
  }
  if (exchange_ && i + 1 == count(passes)) {
    exchange_->begin();
    tape_.watch_gradients(&*exchange_);
  }
}

void DataParallelStep::end_pass(index i, index passes) {
  if (exchange_ && i + 1 == count(passes)) {
    tape_.watch_gradients(nullptr);
    exchange_->finish();
    sum_.close();
    return;
  }
  if ((i + 1) % of_lane(passes) == 0) {
    sum_.end(i / of_lane(passes));
  }
}

double DataParallelStep::gradient_norm() {
  if (is_alone()) {
    return dikkat::gradient_norm(store_);
  }
  const std::vector<OwnedRange>& parts = ownership_->parts();
  parallel_for(std::ssize(parts), Work::elements(store_.trainable_size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    if (parts[at].owner == ranks_.rank()) {
      exchanged_[places_[at]] = sum_of_squares(store_, parts[at]);
    }
  });
  ranks_.share<double>(of_ranks_, exchanged_.data());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    squares_[i] = exchanged_[places_[i]];
  }
  return norm_of(squares_);
}

bool DataParallelStep::update(const Update& update) {
  if (is_alone()) {
    return optimizer_.step(update);
  }
  const bool finite = optimizer_.update(update, own_units_);
  store_.clear_gradients();
  ranks_.share<float>(ownership_->weights(), store_.weights<float>());
  return !ranks_.any(!finite);
}

void DataParallelStep::exchange_average() {
  if (optimizer_.exchange_average() && !is_alone()) {
    ranks_.share<float>(ownership_->weights(), store_.weights<float>());
  }
}

void DataParallelStep::gather_state() {
  for (StateSlab* slab : optimizer_.state()) {
    if (!is_alone()) {
      ranks_.gather<float>(ownership_->state(*slab), slab->data<float>());
    }
  }
}

void DataParallelStep::gather_gradients() {
  if (!is_alone()) {
    ranks_.gather<float>(ownership_->weights(), store_.gradients<float>());
  }
}

void DataParallelStep::release_foreign_state() {
  for (StateSlab* slab : optimizer_.state()) {
    if (is_alone() || ranks_.size() == 1) {
      return;
    }
    for (const OwnedRange& part : ownership_->state(*slab)) {
      if (part.owner != ranks_.rank()) {
        slab->memory.release(static_cast<std::size_t>(part.begin) * sizeof(float), static_cast<std::size_t>(part.size()) * sizeof(float));
      }
    }
  }
}

}  // namespace dikkat
