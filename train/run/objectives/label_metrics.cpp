#include "train/run/objectives/label_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "train/model/classifier.h"

namespace dikkat {
namespace {

std::size_t likeliest(std::span<const double> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

/// Returns log(1 + e^x) without overflow.
double log_of_one_and_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double log_of_sum(std::span<const double> logits) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - largest);
  }
  return largest + std::log(sum);
}

/// Calls f(logits, targets) for each text.
template <class F>
void for_texts(const JudgedLabels& judged, std::size_t classes, F&& f) {
  for (std::size_t at = 0; at < judged.logits.size(); at += classes) {
    f(std::span(judged.logits).subspan(at, classes), std::span(judged.targets).subspan(at, classes));
  }
}

/// The expected calibration error: the mean over all predictions of how far the share of right ones in a bin is from their probability.
class Calibration {
 public:
  void add(double probability, bool is_right) {
    auto& [sum, right] = bins_[std::min(kBins - 1, static_cast<std::size_t>(probability * static_cast<double>(kBins)))];
    sum += probability;
    right += is_right ? 1 : 0;
    ++all_;
  }
  double error() const {
    double error = 0;
    for (const Bin& bin : bins_) {
      error += std::abs(bin.right - bin.sum);
    }
    return error / all_;
  }

 private:
  static constexpr std::size_t kBins = 15;
  struct Bin {
    double sum = 0, right = 0;
  };
  std::array<Bin, kBins> bins_{};
  double all_ = 0;
};

/// Returns the numbers of a label's texts that got it, that did not get it, and of the others that got it.
std::array<double, 3> right_missed_wrong(const LabelTable& table, index label) {
  if (table.several) {
    return {static_cast<double>(table.at(label, 0)), static_cast<double>(table.at(label, 1)), static_cast<double>(table.at(label, 2))};
  }
  index have = 0, got = 0;
  for (index other = 0; other < std::ssize(table.labels); ++other) {
    have += table.at(label, other);
    got += table.at(other, label);
  }
  const index right = table.at(label, label);
  return {static_cast<double>(right), static_cast<double>(have - right), static_cast<double>(got - right)};
}

}  // namespace

double label_loss(std::span<const double> logits, std::span<const double> targets, bool several) {
  if (!several) {
    return log_of_sum(logits) - logits[likeliest(targets)];
  }
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum += log_of_one_and_exp(targets[i] > 0 ? -logits[i] : logits[i]);
  }
  return sum / static_cast<double>(logits.size());
}

LabelTable label_table(const ClassifyConfig& classify, const JudgedLabels& judged) {
  LabelTable table{.labels = classify.labels, .several = classify.several};
  const std::size_t classes = classify.labels.size(), columns = static_cast<std::size_t>(table.columns());
  table.counts.assign(classes * columns, 0);
  for_texts(judged, classes, [&](std::span<const double> logits, std::span<const double> targets) {
    if (!classify.several) {
      ++table.counts[likeliest(targets) * columns + likeliest(logits)];
      return;
    }
    for (std::size_t i = 0; i < classes; ++i) {
      const bool has = targets[i] > 0, got = logits[i] >= 0;
      if (has || got) {
        ++table.counts[i * columns + (has && got ? 0 : has ? 1 : 2)];
      }
    }
  });
  return table;
}

Metrics label_metrics(const ClassifyConfig& classify, const JudgedLabels& judged, const LabelTable& table) {
  const std::size_t classes = classify.labels.size();
  // Compare each text.
  double texts = 0, right = 0;
  Calibration calibration;
  std::vector<double> probabilities;
  for_texts(judged, classes, [&](std::span<const double> logits, std::span<const double> targets) {
    label_probabilities(logits, classify.several, probabilities);
    bool is_right = true;
    if (classify.several) {
      for (std::size_t i = 0; i < classes; ++i) {
        is_right = is_right && (logits[i] >= 0) == (targets[i] > 0);
        calibration.add(probabilities[i], targets[i] > 0);
      }
    } else {
      const std::size_t best = likeliest(logits);
      is_right = targets[best] > 0;
      calibration.add(probabilities[best], is_right);
    }
    texts += 1;
    right += is_right ? 1 : 0;
  });
  // Average F1 over the labels that a text has or gets.
  double f1 = 0, seen = 0;
  for (index label = 0; label < static_cast<index>(classes); ++label) {
    const auto [of_label, missed, wrong] = right_missed_wrong(table, label);
    if (const double all = 2 * of_label + missed + wrong; all > 0) {
      f1 += 2 * of_label / all;
      seen += 1;
    }
  }
  return {{.name = "accuracy", .value = right / texts, .label = "accuracy"},
          {.name = kMacroF1, .value = f1 / std::max(seen, 1.0), .label = "F1"},
          {.name = "calibration_error", .value = calibration.error()}};
}

}  // namespace dikkat
