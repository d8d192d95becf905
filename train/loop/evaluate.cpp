#include "train/loop/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/ops/loss.h"
#include "train/data/permutation.h"

namespace dikkat {
namespace {

constexpr index kBlockTokens = 2048;  // of a block, about

}  // namespace

double Evaluation::perplexity() const { return std::exp(loss); }

double Evaluation::bits_per_byte(index bytes) const {
  return loss / std::numbers::ln2 * static_cast<double>(tokens) / static_cast<double>(bytes);
}

std::optional<Evaluation> Evaluator::operator()(const TokenStore& text, const WindowChoice& choice, const std::function<bool()>& stop,
                                                const std::function<void(double)>& progress) {
  const index time = model_.block_size();
  const SequentialWindows windows(text, time);
  const bool all = choice.count == 0 || choice.count >= windows.count();
  const index count = all ? windows.count() : choice.count;
  const Permutation order(windows.count(), choice.seed ^ hash_of("evaluation"), choice.draw);
  const index rows = std::max<index>(1, kBlockTokens / time);

  double total = 0;
  double weight = 0;
  for (index first = 0; first < count; first += rows) {
    if (stop && stop()) {
      return std::nullopt;
    }
    batch_.reshape(rows, time);
    batch_.weights.assign(static_cast<std::size_t>(rows * time), 0.0F);
    batch_.target_weight = 0;
    std::fill(batch_.inputs.begin(), batch_.inputs.end(), 0);
    std::fill(batch_.targets.begin(), batch_.targets.end(), 0);
    for (index row = 0; row < std::min(rows, count - first); ++row) {
      windows.fill(all ? first + row : order(first + row), 1, window_);
      std::copy(window_.inputs.begin(), window_.inputs.end(), batch_.inputs.begin() + row * time);
      std::copy(window_.targets.begin(), window_.targets.end(), batch_.targets.begin() + row * time);
      std::copy(window_.weights.begin(), window_.weights.end(), batch_.weights.begin() + row * time);
      batch_.target_weight += window_.target_weight;
    }
    Pass pass{.tape = tape_};
    const Tensor tokens = tape_.input<Token>({rows, time}, batch_.inputs);
    const Tensor targets = tape_.input<Token>({rows, time}, batch_.targets);
    const Tensor weights = tape_.input<float>({rows, time}, batch_.weights);
    const Tensor loss = cross_entropy(model_.gpt()(pass, tokens), targets, weights, batch_.target_weight);
    total += static_cast<double>(*loss.data<float>()) * batch_.target_weight;
    weight += batch_.target_weight;
    tape_.reset();
    if (progress) {
      progress(static_cast<double>(std::min(first + rows, count)) / static_cast<double>(count));
    }
  }
  return Evaluation{.loss = total / weight, .tokens = static_cast<index>(weight)};
}

}  // namespace dikkat
