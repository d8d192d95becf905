#include "train/run/objectives/embedding.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "autograd/base/dry_run.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "train/config/accumulation.h"
#include "train/model/pooling.h"
#include "train/run/objectives/embedding_scorer.h"

namespace dikkat {
namespace {

/// Sends this rank's values and receives those of the others, one rank's after another's. `counts` has the number of each rank.
template <class T>
void gather_in_order(Ranks& ranks, std::span<const index> counts, std::vector<T>& values) {
  std::vector<OwnedRange> parts;
  index begin = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    parts.push_back({begin, begin + counts[static_cast<std::size_t>(rank)], rank});
    begin = parts.back().end;
  }
  std::vector<T> all(static_cast<std::size_t>(begin));
  std::ranges::copy(values, all.begin() + parts[static_cast<std::size_t>(ranks.rank())].begin);
  ranks.share<T>(parts, all.data());
  values = std::move(all);
}

}  // namespace

/// Batches that are read a step at a time, because its loss needs all of them.
class EmbeddingObjective::OfStep : public Batches {
 public:
  OfStep(EmbeddingObjective& objective, std::unique_ptr<Batches> source)
      : objective_(objective), source_(std::move(source)), passes_(objective.config_.train), step_(objective.state_.step) {
    objective_.step_.clear();
  }

  const Batch& next() override {
    std::vector<Batch>& batches = objective_.step_;
    if (at_ == batches.size()) {
      batches.resize(static_cast<std::size_t>(passes_(step_++) / objective_.ranks_->size()));
      for (Batch& batch : batches) {
        batch = source_->next();
      }
      objective_.is_cached_ = false;
      at_ = 0;
    }
    return batches[at_++];
  }

 private:
  EmbeddingObjective& objective_;
  std::unique_ptr<Batches> source_;
  Accumulation passes_;
  index step_;
  std::size_t at_ = 0;  // the batch of the step that comes next
};

bool EmbeddingObjective::prepare(const Preparation& with) {
  ranks_ = &with.ranks;
  return true;
}

std::unique_ptr<Batches> EmbeddingObjective::batches(std::unique_ptr<Batches> of_corpus) {
  if (ranks_ == nullptr) {  // a trial measures the time of single micro-batches
    return of_corpus;
  }
  return std::make_unique<OfStep>(*this, std::move(of_corpus));
}

/// Computes the vectors of the step's texts, the losses, and the derivatives with respect to the features. `first` is the pass of this
/// rank's first micro-batch.
void EmbeddingObjective::cache(const Pass& first) {
  texts_.clear();
  pooled_.clear();
  first_text_.clear();
  first_pair_.clear();
  for (std::size_t i = 0; i < step_.size(); ++i) {
    first_text_.push_back(texts_.count());
    first_pair_.push_back(texts_.pairs());
    texts_.add(step_[i]);
    Pass pass = first.on(caching_);
    pass.first_sequence += static_cast<index>(i) * step_[i].rows;
    pass.recompute = Recompute::block;  // the tape keeps only the results of blocks
    const Tensor pooled = pooled_features(model_, pass, step_[i], config_.embedding.pooling);
    if (DryRun::active()) {
      slopes_.resize(static_cast<std::size_t>(pooled.size()));
      caching_.reset();
      return;
    }
    pooled_.insert(pooled_.end(), pooled.data<float>(), pooled.data<float>() + pooled.size());
    caching_.reset();
  }
  share_among_ranks();
  slopes_.resize(pooled_.size());
  losses_ = contrast(texts_, pooled_, config_.embedding.temperature, slopes_);
}

/// Adds the texts of the other ranks, in the order of the micro-batches.
void EmbeddingObjective::share_among_ranks() {
  if (ranks_ == nullptr || ranks_->size() == 1) {
    return;
  }
  const auto ranks = static_cast<std::size_t>(ranks_->size()), own = static_cast<std::size_t>(ranks_->rank());
  std::vector<index> texts(ranks), pairs(ranks), numbers(ranks);
  texts[own] = texts_.count();
  pairs[own] = texts_.pairs();
  ranks_->share_equally<index>(texts);
  ranks_->share_equally<index>(pairs);
  const index width = std::ssize(pooled_) / texts_.count();
  std::ranges::transform(texts, numbers.begin(), [&](index count) { return count * width; });
  gather_in_order(*ranks_, texts, texts_.places);
  gather_in_order(*ranks_, texts, texts_.ids);
  gather_in_order(*ranks_, numbers, pooled_);
  const auto before = [&](const std::vector<index>& counts) {
    return std::accumulate(counts.begin(), counts.begin() + ranks_->rank(), index{0});
  };
  for (std::size_t i = 0; i < step_.size(); ++i) {
    first_text_[i] += before(texts);
    first_pair_[i] += before(pairs);
  }
}

Tensor EmbeddingObjective::loss(Pass& pass, const Batch& batch, PassReport& report) {
  // A batch that is not one of a step is one by itself, as in a dry run and in a trial.
  const auto found = std::ranges::find_if(step_, [&](const Batch& one) { return &one == &batch; });
  const auto at = static_cast<std::size_t>(found == step_.end() ? 0 : found - step_.begin());
  if (found == step_.end()) {
    step_ = {batch};
    is_cached_ = false;
  }
  if (!is_cached_) {
    require(at == 0, "embedding: micro-batch ", at, " of a step comes first, expected 0");
    cache(pass);
    is_cached_ = true;
  }
  // Report the micro-batch's part of the loss.
  if (!DryRun::active()) {
    const index pairs = batch.units;
    const auto all = static_cast<double>(losses_.losses.size());
    const auto first = losses_.losses.begin() + first_pair_[at];
    const auto right = losses_.right.begin() + first_pair_[at];
    report.loss = std::accumulate(first, first + pairs, 0.0) / all;
    report.sums[0] = std::accumulate(right, right + pairs, 0.0);
    report.sums[1] = static_cast<double>(pairs);
  }
  // Run the recorded pass.
  const Tensor pooled = pooled_features(model_, pass, batch, config_.embedding.pooling);
  const index width = pooled.shape()[1];
  const auto slopes =
      std::span<const float>(slopes_).subspan(static_cast<std::size_t>(first_text_[at] * width), static_cast<std::size_t>(pooled.size()));
  return sum(multiply(pooled, pass.tape.input<float>(pooled.shape(), slopes)));
}

void EmbeddingObjective::report(std::span<const double> sums, StepReport& report) const {
  report.metrics = {{.name = "batch_accuracy", .value = sums[0] / sums[1], .label = "accuracy"}, {.name = "pairs", .value = sums[1]}};
}

std::unique_ptr<Scorer> EmbeddingObjective::scorer() const { return std::make_unique<EmbeddingScorer>(model_, config_.embedding); }

std::size_t EmbeddingObjective::comparison_bytes(const RowLengths& longest) const {
  const index rows = config_.train.batch_size * config_.train.gradient_accumulation_steps;
  const auto texts = static_cast<std::size_t>(rows * longest.texts), width = static_cast<std::size_t>(model_.config().n_embd);
  const std::size_t pairs = std::min(static_cast<std::size_t>(config_.embedding.batch), texts / 2);
  // Count the scores of each anchor with all other texts, the features and their derivatives, the vectors, and the step's batches.
  return pairs * (texts - pairs) * sizeof(double) + texts * width * (2 * sizeof(float) + sizeof(double)) + bytes_of(longest, rows);
}

std::unique_ptr<Objective> EmbeddingObjective::twin() const { return std::make_unique<EmbeddingObjective>(model_, config_, state_); }

}  // namespace dikkat
