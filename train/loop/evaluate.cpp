#include "train/loop/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "train/data/permutation.h"

namespace dikkat {
namespace {

constexpr index kBlockTokens = 2048;  // of a block, about

}  // namespace

double Evaluation::perplexity() const { return std::exp(loss); }

double Evaluation::bits_per_byte(index bytes) const {
  return loss / std::numbers::ln2 * static_cast<double>(tokens) / static_cast<double>(bytes);
}

std::optional<Evaluation> Evaluator::operator()(const Samples& text, const SampleChoice& choice, const std::function<bool()>& stop,
                                                const std::function<void(double)>& progress) {
  const bool all = choice.count == 0 || choice.count >= text.count();
  const index count = all ? text.count() : choice.count;
  const Permutation order(text.count(), choice.seed ^ hash_of("evaluation"), choice.draw);
  const auto chosen = [&](index i) { return all ? i : order(i); };
  const index block = std::max<index>(1, kBlockTokens / text.longest().cols);

  windows_.clear();
  for (index first = 0; first < count; first += block) {
    if (stop && stop()) {
      return std::nullopt;
    }
    const index rows = std::min(block, count - first);
    RowLengths lengths;
    for (index row = 0; row < rows; ++row) {
      lengths = longer(lengths, text.lengths(chosen(first + row)));
    }
    batch_.reshape(rows, lengths);
    for (index row = 0; row < rows; ++row) {
      text.fill(0, chosen(first + row), row, batch_);
    }
    Pass pass{.tape = tape_};
    terms_.resize(batch_.targets.size());
    model_.loss(pass, batch_, 1, 0, terms_.data());
    for (index row = 0; row < rows; ++row) {
      const auto begin = terms_.begin() + row * lengths.cols;
      const double sum = std::accumulate(begin, begin + lengths.cols, 0.0);
      windows_.emplace_back(sum, text.target_weight(chosen(first + row)));
    }
    tape_.reset();
    if (progress) {
      progress(static_cast<double>(first + rows) / static_cast<double>(count));
    }
  }
  double total = 0, weight = 0;
  for (const auto& [sum, of_window] : windows_) {
    total += sum;
    weight += of_window;
  }
  Evaluation result{.loss = total / weight, .tokens = static_cast<index>(weight)};
  if (const auto n = static_cast<double>(windows_.size()); n > 1) {
    double squares = 0;
    for (const auto& [sum, of_window] : windows_) {
      const double deviation = sum - result.loss * of_window;
      squares += deviation * deviation;
    }
    result.standard_error = std::sqrt(squares * n / (n - 1)) / weight;
  }
  return result;
}

}  // namespace dikkat
