#include "train/loop/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

  double total = 0;
  double weight = 0;
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
    const Tensor loss = model_.loss(pass, batch_, batch_.target_weight);
    total += static_cast<double>(*loss.data<float>()) * batch_.target_weight;
    weight += batch_.target_weight;
    tape_.reset();
    if (progress) {
      progress(static_cast<double>(first + rows) / static_cast<double>(count));
    }
  }
  return Evaluation{.loss = total / weight, .tokens = static_cast<index>(weight)};
}

}  // namespace dikkat
