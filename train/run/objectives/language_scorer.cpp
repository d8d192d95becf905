#include "train/run/objectives/language_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/base/dry_run.h"

namespace dikkat {

std::span<const double> LanguageScorer::losses(Pass& pass, const Batch& batch) {
  losses_.resize(static_cast<std::size_t>(batch.rows * batch.lengths.cols));
  model_.loss(pass, batch, 1, 0, losses_.data());
  return losses_;
}

void LanguageScorer::score(Pass& pass, const Batch& batch, std::span<double> numbers) {
  losses(pass, batch);
  if (DryRun::active()) {
    return;
  }
  const auto cols = static_cast<std::size_t>(batch.lengths.cols), count = ends_.empty() ? std::size_t{1} : std::size_t{3};
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row) {
    const auto of_row = std::span(losses_).subspan(row * cols, cols);
    const auto out = numbers.subspan(row * count, count);
    out[0] = std::accumulate(of_row.begin(), of_row.end(), 0.0);
    for (std::size_t i = row * cols; !ends_.empty() && i < (row + 1) * cols; ++i) {
      if (batch.weights[i] > 0 && std::ranges::find(ends_, batch.targets[i]) != ends_.end()) {
        out[1] += std::exp(-losses_[i]);
        out[2] += 1;
      }
    }
  }
  if (listener_) {
    listener_(batch, losses_);
  }
}

void LanguageScorer::judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers,
                           std::vector<SampleLoss>& losses, Evaluation& result) {
  const std::size_t count = numbers.size() / samples.size();
  double probability = 0, ends = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto own = numbers.subspan(i * count, count);
    losses.push_back(
        {.of = {.loss = own[0], .weight = text.target_weight(samples[i])}, .whole = static_cast<double>(text.lengths(samples[i]).cols)});
    probability += count > 1 ? own[1] : 0;
    ends += count > 1 ? own[2] : 0;
  }
  if (ends > 0) {
    result.end_probability = probability / ends;
    result.ends = static_cast<index>(ends);
  }
}

}  // namespace dikkat
