#include "train/run/objectives/classify_scorer.h"

#include <algorithm>

#include "autograd/base/dry_run.h"
#include "autograd/base/error.h"
#include "train/model/pooling.h"
#include "train/run/objectives/label_metrics.h"
#include "train/system/sha256.h"

namespace dikkat {

void ClassifyScorer::score(Pass& pass, const Batch& batch, std::span<double> numbers) {
  const Tensor logits = model_.gpt().logits(pass, pooled_features(model_, pass, batch, Pooling::last));
  if (DryRun::active()) {
    return;
  }
  auto to = numbers.begin();
  for (index text = 0; text < std::ssize(batch.texts); ++text) {
    to = std::copy_n(logits.data<float>() + text * classes(), classes(), to);
    to = std::copy_n(batch.labels.begin() + text * classes(), classes(), to);
  }
}

void ClassifyScorer::judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers,
                           std::vector<SampleLoss>& losses, Evaluation& result) {
  constexpr std::size_t kMostInTable = 200;  // a table of more labels is too large for a line of metrics
  const auto classes = classify_.labels.size();
  JudgedLabels judged;
  auto from = numbers.begin();
  for (const index sample : samples) {
    for (index unit = 0; unit < text.units(sample); ++unit) {
      const std::span logits(from, classes), targets(from + static_cast<std::ptrdiff_t>(classes), classes);
      losses.push_back({.of = {.loss = label_loss(logits, targets, classify_.several), .weight = 1}});
      judged.logits.insert(judged.logits.end(), logits.begin(), logits.end());
      judged.targets.insert(judged.targets.end(), targets.begin(), targets.end());
      from += static_cast<std::ptrdiff_t>(2 * classes);
    }
  }
  LabelTable table = label_table(classify_, judged);
  result.metrics = label_metrics(classify_, judged, table);
  if (classes <= kMostInTable) {
    result.table = std::move(table);
  }
}

LossFingerprint ClassifyScorer::fingerprint(const LossFingerprint& tokens) const {
  if (!tokens.is_known()) {
    return tokens;
  }
  std::string names;
  for (const std::string& label : classify_.labels) {
    append_to(names, concat(label.size(), ':', label));
  }
  return {.targets = to_hex(sha256(concat(tokens.targets, names))), .contexts = to_hex(sha256(concat(tokens.contexts, names))), .text = ""};
}

}  // namespace dikkat
