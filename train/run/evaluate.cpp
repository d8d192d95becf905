#include "train/run/evaluate.h"

#include <algorithm>
#include <chrono>

#include "autograd/base/dry_run.h"
#include "autograd/base/seconds_since.h"
#include "train/data/samples/permutation.h"

namespace dikkat {
namespace {

constexpr index kBlockTokens = 2048;  // tokens of a block, about

/// Returns the number of samples per block.
index block_of(const Samples& text) { return std::max<index>(1, kBlockTokens / text.longest().cols); }

}  // namespace

Pass Evaluator::pass_on(Tape& tape) const {
  return {.tape = tape, .recompute = Recompute::block, .operands = operands_, .keys = keys_};  // the tape keeps only the results of blocks
}

std::size_t Evaluator::reserve(const Samples& text, index count) {
  const index most = std::min(count, text.count());
  const index rows = std::min(block_of(text), most);
  batch_.reshape(rows, text.longest());
  batch_.fill_for_dry_run();
  Tape tape{Recording::off};
  {
    const DryRun dry;
    Pass pass = pass_on(tape);
    scorer_.score(pass, batch_, {});
  }
  tape_.reserve(tape);
  index numbers = 0;
  for (index i = 0; i < text.count(); ++i) {
    numbers = std::max(numbers, scorer_.numbers_of(text, i));
  }
  blocks_.reserve(static_cast<std::size_t>(most));
  losses_.reserve(static_cast<std::size_t>(most));
  numbers_.reserve(static_cast<std::size_t>(most * std::max<index>(numbers, 1)));
  return tape.activation_bytes() + blocks_.capacity() * sizeof blocks_[0] + losses_.capacity() * sizeof losses_[0] +
         numbers_.capacity() * sizeof numbers_[0];
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
  choose(text, choice);
  if (!score(text, stop, progress)) {
    return std::nullopt;
  }
  Evaluation result;
  losses_.clear();
  scorer_.judge(text, chosen_, numbers_, losses_, result);

  // Group samples into observations. With a stride, a window has fewer predictions than tokens, so an observation takes several windows.
  blocks_.clear();
  for (const SampleLoss& one : losses_) {
    if (blocks_.empty() || blocks_.back().weight >= one.whole) {
      blocks_.emplace_back();
    }
    blocks_.back().loss += one.of.loss;
    blocks_.back().weight += one.of.weight;
  }
  set_ratio_estimate(blocks_, result);
  return result;
}

/// Chooses samples, and lays out the numbers that the scorer writes for them.
void Evaluator::choose(const Samples& text, const SampleChoice& choice) {
  const bool all = choice.count == 0 || choice.count >= text.count();
  const index count = all ? text.count() : choice.count;
  const Permutation order(text.count(), choice.seed ^ hash_of("evaluation"), choice.draw);
  chosen_.resize(static_cast<std::size_t>(count));
  starts_.assign(1, 0);
  for (index i = 0; i < count; ++i) {
    const index sample = all ? i : order(i);
    chosen_[static_cast<std::size_t>(i)] = sample;
    starts_.push_back(starts_.back() + scorer_.numbers_of(text, sample));
  }
  numbers_.assign(static_cast<std::size_t>(starts_.back()), 0);
}

/// Computes the numbers of all chosen samples. Each rank takes a range of blocks. Returns false if it was stopped.
bool Evaluator::score(const Samples& text, const std::function<bool()>& stop, const std::function<void(double)>& progress) {
  const index count = std::ssize(chosen_), block = block_of(text);
  const index blocks = ceil_div(count, block), ranks = ranks_->size();
  const auto first_of = [&](index rank) { return std::min(count, blocks * rank / ranks * block); };
  const index begin = first_of(ranks_->rank()), end = first_of(ranks_->rank() + 1);
  const index rounds = ceil_div(blocks, ranks);  // on each rank, so that all of them ask `stop` equally often
  for (index round = 0; round < rounds; ++round) {
    if (stop && stop()) {
      return false;
    }
    if (const index first = begin + round * block; first < end) {
      score_block(text, first, std::min(block, count - first));
      if (progress) {
        progress(static_cast<double>(round + 1) / static_cast<double>(rounds));
      }
    }
  }
  std::vector<OwnedRange> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    parts.push_back({starts_[static_cast<std::size_t>(first_of(rank))], starts_[static_cast<std::size_t>(first_of(rank + 1))], rank});
  }
  ranks_->share<double>(parts, numbers_.data());
  return true;
}

/// Computes the numbers of `rows` chosen samples, starting at `first`.
void Evaluator::score_block(const Samples& text, index first, index rows) {
  const auto samples = std::span(chosen_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
  RowLengths lengths;
  for (const index sample : samples) {
    lengths = longer(lengths, text.lengths(sample));
  }
  batch_.reshape(rows, lengths);
  for (index row = 0; row < rows; ++row) {
    text.fill(0, samples[static_cast<std::size_t>(row)], row, batch_);
  }
  Pass pass = pass_on(tape_);
  const index from = starts_[static_cast<std::size_t>(first)], to = starts_[static_cast<std::size_t>(first + rows)];
  scorer_.score(pass, batch_, std::span(numbers_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
  tape_.reset();
}

}  // namespace dikkat
