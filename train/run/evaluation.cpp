#include "train/run/evaluation.h"

#include <cmath>
#include <numbers>

#include "autograd/base/error.h"

namespace dikkat {

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

void set_ratio_estimate(std::span<const WeightedLoss> observations, Evaluation& result) {
  double total = 0, weight = 0;
  for (const WeightedLoss& one : observations) {
    total += one.loss;
    weight += one.weight;
  }
  result.loss = total / weight;
  result.tokens = static_cast<index>(weight);
  if (const auto n = static_cast<double>(observations.size()); n > 1) {
    double squares = 0;
    for (const WeightedLoss& one : observations) {
      const double deviation = one.loss - result.loss * one.weight;
      squares += deviation * deviation;
    }
    result.standard_error = std::sqrt(squares * n / (n - 1)) / weight;
  }
}

}  // namespace dikkat
