#include "train/run/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "autograd/base/dry_run.h"
#include "autograd/base/error.h"
#include "autograd/base/seconds_since.h"
#include "train/data/permutation.h"
#include "train/run/objectives/preference_model.h"

namespace dikkat {
namespace {

constexpr index kBlockTokens = 2048;  // per block, about

/// Returns the number of samples per block.
index block_of(const Samples& text) { return std::max<index>(1, kBlockTokens / text.longest().cols); }

}  // namespace

double Evaluation::perplexity() const { return std::exp(loss); }

double Evaluation::bits_per_byte(index bytes) const {
  return loss / std::numbers::ln2 * static_cast<double>(tokens) / static_cast<double>(bytes);
}

Evaluation mean(std::span<const WeightedEvaluation> evaluations) {
  require(!evaluations.empty(), "mean of evaluations: none were given, expected 1 or more");
  double shares = 0, loss = 0, variance = 0, probability = 0;
  index tokens = 0, ends = 0;
  for (const auto& [of, share] : evaluations) {
    shares += share;
    loss += share * of.loss;
    variance += share * share * of.standard_error * of.standard_error;
    tokens += of.tokens;
    probability += of.ends > 0 ? of.end_probability * static_cast<double>(of.ends) : 0;
    ends += of.ends;
  }
  return evaluations.size() == 1 ? evaluations.front().of
                                 : Evaluation{.loss = loss / shares,
                                              .tokens = tokens,
                                              .standard_error = std::sqrt(variance) / shares,
                                              .end_probability = probability / static_cast<double>(ends),
                                              .ends = ends};
}

/// Writes for each row of the batch the sum of the probabilities of its watched targets, and their number.
void Evaluator::add_ends(index rows, index cols, std::span<double> out) const {
  for (index at = 0; at < rows * cols; ++at) {
    const auto i = static_cast<std::size_t>(at), row = static_cast<std::size_t>(at / cols);
    if (batch_.weights[i] > 0 && std::ranges::find(ends_, batch_.targets[i]) != ends_.end()) {
      out[2 * row] += std::exp(-terms_[i]);
      out[2 * row + 1] += 1;
    }
  }
}

/// Writes the losses of the batch's targets to terms_.
void Evaluator::compute_losses(Tape& tape, index rows, const RowLengths& lengths) {
  Pass pass{
      .tape = tape, .recompute = Recompute::block, .operands = operands_, .keys = keys_};  // keeps only the results of the model's blocks
  terms_.resize(static_cast<std::size_t>(rows * lengths.cols));
  model_.loss(pass, batch_, 1, 0, terms_.data());
}

/// Returns the sums of each sample, from the log-probabilities of its answers. z of kto is that of all samples.
std::vector<PreferenceSums> Evaluator::judge(const Samples& text, std::span<const index> samples) {
  std::vector<Answer> answers;
  std::vector<std::size_t> starts = {0};
  for (const index sample : samples) {
    batch_.reshape(1, text.lengths(sample));
    text.fill(0, sample, 0, batch_);
    answers.insert(answers.end(), batch_.answers.begin(), batch_.answers.end());
    starts.push_back(answers.size());
  }
  const double z = divergence_of(preference_, answers, numbers_);
  std::vector<PreferenceSums> sums;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t begin = starts[i], size = starts[i + 1] - begin;
    slopes_.resize(size);
    sums.push_back(
        preference_loss(preference_, std::span(answers).subspan(begin, size), std::span(numbers_).subspan(begin, size), slopes_, z));
  }
  return sums;
}

std::size_t Evaluator::reserve(const Samples& text, index count) {
  const index rows = std::min(block_of(text), std::min(count, text.count()));
  batch_.reshape(rows, text.longest());
  std::fill(batch_.source_lengths.begin(), batch_.source_lengths.end(), static_cast<std::int32_t>(text.longest().source_cols));
  for (index row = 0; text.longest().packed && row < rows; ++row) {  // sequences of one token: a row may be longer than a sequence
    const auto of_row = batch_.starts.begin() + row * text.longest().cols;
    std::iota(of_row, of_row + text.longest().cols, 0);
  }
  Tape tape{Recording::off};
  {
    const DryRun dry;
    compute_losses(tape, rows, text.longest());
  }
  tape_.reserve(tape);
  blocks_.reserve(static_cast<std::size_t>(std::min(count, text.count())));
  index most = 0;
  for (index i = 0; preference_.is_on() && i < text.count(); ++i) {
    most = std::max(most, 2 * text.units(i));
  }
  end_numbers_.reserve(ends_.empty() ? 0 : 2 * blocks_.capacity());
  numbers_.reserve(blocks_.capacity() * static_cast<std::size_t>(std::max<index>(most, 1)));
  return tape.activation_bytes() + blocks_.capacity() * sizeof blocks_[0] + numbers_.capacity() * sizeof numbers_[0];
}

double Evaluator::estimate(const Samples& text, index count) {
  const index all = count == 0 ? text.count() : std::min(count, text.count());
  const index some = std::min(all, block_of(text));
  const auto start = std::chrono::steady_clock::now();
  (*this)(text, {.count = some});
  const double seconds = seconds_since(start);
  return seconds * static_cast<double>(all) / static_cast<double>(some);
}

std::optional<Evaluation> Evaluator::operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop,
                                                const std::function<void(double)>& progress) {
  // Choose samples.
  const bool all = choice.count == 0 || choice.count >= text.count();
  const index count = all ? text.count() : choice.count;
  const Permutation order(text.count(), choice.seed ^ hash_of("evaluation"), choice.draw);
  std::vector<index> chosen(static_cast<std::size_t>(count));
  for (index i = 0; i < count; ++i) {
    chosen[static_cast<std::size_t>(i)] = all ? i : order(i);
  }
  const index block = block_of(text);
  const bool prefers = preference_.is_on() && text.units(0) > 0;
  std::vector<index> starts = {0};  // of each sample's numbers: the sum of its losses, or the log-probabilities of its answers
  for (const index sample : chosen) {
    starts.push_back(starts.back() + (prefers ? 2 * text.units(sample) : 1));
  }

  // Compute the numbers. Each rank takes a run of blocks.
  const index blocks = ceil_div(count, block), ranks = ranks_->size();
  const auto first_block = [&](index rank) { return blocks * rank / ranks; };
  const index begin = first_block(ranks_->rank()), end = first_block(ranks_->rank() + 1);
  const index rounds = ceil_div(blocks, ranks);
  const bool watches = !ends_.empty() && !prefers;
  numbers_.assign(static_cast<std::size_t>(starts.back()), 0);
  end_numbers_.assign(watches ? 2 * static_cast<std::size_t>(count) : 0, 0);
  for (index round = 0; round < rounds; ++round) {
    if (stop && stop()) {
      return std::nullopt;
    }
    if (begin + round >= end) {
      continue;
    }
    const index first = (begin + round) * block;
    const index rows = std::min(block, count - first);
    const auto samples = std::span(chosen).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    RowLengths lengths;
    for (const index sample : samples) {
      lengths = longer(lengths, text.lengths(sample));
    }
    batch_.reshape(rows, lengths);
    for (index row = 0; row < rows; ++row) {
      text.fill(0, samples[static_cast<std::size_t>(row)], row, batch_);
    }
    compute_losses(tape_, rows, lengths);
    const auto out = numbers_.begin() + starts[static_cast<std::size_t>(first)];
    if (prefers) {
      sum_log_probabilities(batch_, terms_, log_probabilities_);
      std::ranges::copy(log_probabilities_, out);
    }
    for (index row = 0; !prefers && row < rows; ++row) {
      const auto of_row = terms_.begin() + row * lengths.cols;
      out[row] = std::accumulate(of_row, of_row + lengths.cols, 0.0);
    }
    if (watches) {
      add_ends(rows, lengths.cols,
               std::span(end_numbers_).subspan(2 * static_cast<std::size_t>(first), 2 * static_cast<std::size_t>(rows)));
    }
    if (listener_) {
      listener_(batch_, terms_);
    }
    tape_.reset();
    if (progress) {
      progress(static_cast<double>(round + 1) / static_cast<double>(rounds));
    }
  }
  std::vector<OwnedRange> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto before = [&](index rank_or_end) {
      return starts[static_cast<std::size_t>(std::min(count, first_block(rank_or_end) * block))];
    };
    parts.push_back({before(rank), before(rank + 1), rank});
  }
  ranks_->share<double>(parts, numbers_.data());
  if (watches) {
    const auto before = [&](index rank_or_end) { return 2 * std::min(count, first_block(rank_or_end) * block); };
    parts.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      parts.push_back({before(rank), before(rank + 1), rank});
    }
    ranks_->share<double>(parts, end_numbers_.data());
  }
  const std::vector<PreferenceSums> preferences = prefers ? judge(text, chosen) : std::vector<PreferenceSums>();

  // Group samples into observations. With a stride, a window has fewer predictions than tokens, so an observation takes several windows.
  blocks_.clear();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double whole = prefers ? 1 : static_cast<double>(text.lengths(chosen[i]).cols);
    if (blocks_.empty() || blocks_.back().second >= whole) {
      blocks_.emplace_back(0.0, 0.0);
    }
    blocks_.back().first += prefers ? preferences[i].loss : numbers_[i];
    blocks_.back().second += prefers ? preferences[i].units : text.target_weight(chosen[i]);
  }

  // The loss and its standard error.
  double total = 0, weight = 0;
  for (const auto& [sum, of_block] : blocks_) {
    total += sum;
    weight += of_block;
  }
  Evaluation result{.loss = total / weight, .tokens = static_cast<index>(weight)};
  double probability = 0, ends = 0;
  for (std::size_t i = 0; i < end_numbers_.size(); i += 2) {
    probability += end_numbers_[i];
    ends += end_numbers_[i + 1];
  }
  if (ends > 0) {
    result.end_probability = probability / ends;
    result.ends = static_cast<index>(ends);
  }
  if (prefers) {
    result.preferences.emplace();
    for (const PreferenceSums& of_sample : preferences) {
      result.preferences->add(of_sample);
    }
  }
  if (const auto n = static_cast<double>(blocks_.size()); n > 1) {
    double squares = 0;
    for (const auto& [sum, of_block] : blocks_) {
      const double deviation = sum - result.loss * of_block;
      squares += deviation * deviation;
    }
    result.standard_error = std::sqrt(squares * n / (n - 1)) / weight;
  }
  return result;
}

}  // namespace dikkat
