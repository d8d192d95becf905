#include "train/parallel/data_parallel_step.h"

#include <algorithm>

#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "optim/clip.h"

namespace dikkat {
namespace {

index lanes_per_rank(index lanes, int ranks) {
  require_input(lanes % ranks == 0, "train.lanes is ", lanes, ", which ", ranks, " processes do not divide, expected at most ", lanes,
                lanes == 1 ? " process" : " processes", ": start fewer, or set train.lanes = ", ranks,
                " and train.gradient_accumulation_steps to a multiple of it");
  return lanes / ranks;
}

}  // namespace

DataParallelStep::DataParallelStep(ParameterStore& store, Optimizer& optimizer, Ranks& ranks, index lanes, Tape& tape, index bucket)
    : store_(store), optimizer_(optimizer), ranks_(ranks), lanes_(lanes), tape_(tape), sum_(store, lanes_per_rank(lanes, ranks.size())) {
  if (has_one_lane()) {
    return;
  }

  // This rank's units, and where the sums of squares of all parts lie when they are exchanged.
  ownership_.emplace(store, optimizer, ranks.size());
  units_ = ownership_->units_of(ranks.rank());
  const std::vector<OwnedRange>& parts = ownership_->parts();
  squares_.resize(parts.size());
  squares_by_rank_.resize(parts.size());
  places_.resize(parts.size());
  for (int rank = 0, place = 0; rank < ranks.size(); ++rank) {
    const int first = place;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].owner == rank) {
        places_[i] = static_cast<std::size_t>(place++);
      }
    }
    squares_of_ranks_.push_back({first, place, rank});
  }
  if (ranks.size() > 1) {
    const index last = lanes_per_rank(lanes, ranks.size()) - 1;
    exchange_.emplace(
        store, ranks, ownership_->weights(), [this, last](index begin, index end) { sum_.add_range(last, begin, end); }, bucket);
  }
}

void DataParallelStep::begin_pass(index i, index passes) {
  if (i % passes_per_lane(passes) == 0) {
    sum_.begin(i / passes_per_lane(passes));
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
  if ((i + 1) % passes_per_lane(passes) == 0) {
    sum_.end(i / passes_per_lane(passes));
  }
}

void DataParallelStep::touch_state() {
  for (const StateSlab* slab : optimizer_.state()) {
    if (ranks_.size() == 1) {
      touch_in_shares(slab->memory.data(), slab->bytes());
    }
  }
}

std::vector<DataParallelStep::RankReport> DataParallelStep::share_losses(std::span<double> losses, double seconds,
                                                                         const std::function<double()>& memory) {
  const auto ranks = static_cast<std::size_t>(ranks_.size()), rank = static_cast<std::size_t>(ranks_.rank());
  if (ranks == 1) {
    return {};
  }
  const std::size_t own_losses = losses.size() / ranks, each = own_losses + 2;
  const auto report_of = [&](std::size_t one) { return std::span(rank_reports_).subspan(one * each, each); };
  const auto losses_of = [&](std::size_t one) { return losses.subspan(one * own_losses, own_losses); };
  rank_reports_.assign(ranks * each, 0);
  std::ranges::copy(losses_of(rank), report_of(rank).begin());
  report_of(rank)[own_losses] = seconds;
  report_of(rank)[own_losses + 1] = memory();
  ranks_.share_equally<double>(rank_reports_);
  std::vector<RankReport> reports;
  for (std::size_t one = 0; one < ranks; ++one) {
    std::ranges::copy(report_of(one).first(own_losses), losses_of(one).begin());
    reports.push_back({.seconds = report_of(one)[own_losses], .memory = report_of(one)[own_losses + 1]});
  }
  return reports;
}

double DataParallelStep::gradient_norm() {
  if (has_one_lane()) {
    return dikkat::gradient_norm(store_);
  }
  const std::vector<OwnedRange>& parts = ownership_->parts();
  parallel_for(std::ssize(parts), Work::elements(store_.trainable_size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    if (parts[at].owner == ranks_.rank()) {
      squares_by_rank_[places_[at]] = sum_of_squares(store_, parts[at]);
    }
  });
  ranks_.share<double>(squares_of_ranks_, squares_by_rank_.data());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    squares_[i] = squares_by_rank_[places_[i]];
  }
  return norm_of(squares_);
}

bool DataParallelStep::update(const Update& update) {
  if (has_one_lane()) {  // does what Optimizer::step() does, but the trainer reports errors
    store_.complete_gradients();
    const bool is_finite = optimizer_.update(update, optimizer_.units());
    store_.clear_gradients();
    return is_finite;
  }
  const bool finite = optimizer_.update(update, units_);
  store_.clear_gradients();
  ranks_.share<float>(ownership_->weights(), store_.weights<float>());
  return !ranks_.any(!finite);
}

void DataParallelStep::exchange_average() {
  if (optimizer_.exchange_average() && !has_one_lane()) {
    ranks_.share<float>(ownership_->weights(), store_.weights<float>());
  }
}

void DataParallelStep::gather_state() {
  for (StateSlab* slab : optimizer_.state()) {
    if (!has_one_lane()) {
      ranks_.gather<float>(ownership_->state(*slab), slab->data<float>());
    }
  }
}

void DataParallelStep::gather_gradients() {
  if (!has_one_lane()) {
    ranks_.gather<float>(ownership_->weights(), store_.gradients<float>());
  }
}

void DataParallelStep::release_foreign_state() {
  for (StateSlab* slab : optimizer_.state()) {
    if (has_one_lane() || ranks_.size() == 1) {
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
