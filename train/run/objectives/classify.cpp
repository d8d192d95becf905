#include "train/run/objectives/classify.h"

#include <algorithm>

#include "autograd/base/dry_run.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/loss.h"
#include "train/data/examples/label_source.h"
#include "train/model/pooling.h"
#include "train/run/objectives/classify_scorer.h"
#include "train/run/objectives/label_metrics.h"

namespace dikkat {
namespace {

/// Returns the weights of labels that make each count as much as any other.
std::vector<float> balanced_weights(const TrainingData& data, const ClassifyConfig& classify) {
  std::vector<float> weights;
  for (const SourceData& source : data.sources) {
    const auto* train = dynamic_cast<const LabelDataset*>(source.train.get());
    require(train != nullptr, "labels: the data has none");
    const auto texts = static_cast<double>(train->store().count());
    for (const index count : train->store().counts()) {
      const double own = static_cast<double>(std::max<index>(count, 1));  // a label may occur only in the validation part
      weights.push_back(
          static_cast<float>(classify.several ? (texts - own) / own : texts / (static_cast<double>(classify.labels.size()) * own)));
    }
  }
  return weights;
}

}  // namespace

ClassifyObjective::ClassifyObjective(const LanguageModel& model, const Config& config, const TrainingData& data)
    : model_(model), classify_(config.classify) {
  model.gpt();
  if (classify_.weights == LabelWeights::balanced) {
    weights_ = balanced_weights(data, classify_);
  }
}

Tensor ClassifyObjective::loss_of_one(Tape& tape, Tensor logits, const std::vector<std::int32_t>& labels, double normalizer) const {
  CrossEntropyOptions options{.normalizer = normalizer};
  if (!weights_.empty()) {
    options.class_weights = tape.input<float>({std::ssize(weights_)}, weights_);
  }
  return cross_entropy(logits, tape.input<std::int32_t>({std::ssize(labels)}, labels), options);
}

Tensor ClassifyObjective::loss_of_several(Tape& tape, Tensor logits, std::span<const float> labels, double normalizer) const {
  Tensor terms = binary_cross_entropy(logits, tape.input<float>(logits.shape(), labels), Reduction::none);
  if (!weights_.empty()) {
    std::vector<float> weights(labels.size(), 1.0F);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      weights[i] = labels[i] > 0 ? weights_[i % weights_.size()] : 1.0F;
    }
    terms = multiply(terms, tape.input<float>(logits.shape(), weights));
  }
  return scale(sum(terms), 1 / (normalizer * static_cast<double>(logits.shape()[1])));
}

Tensor ClassifyObjective::loss(Pass& pass, const Batch& batch, PassReport& report) {
  const Tensor logits = model_.gpt().logits(pass, pooled_features(model_, pass, batch, Pooling::last));
  const index texts = logits.shape()[0], classes = logits.shape()[1];
  std::vector<float> labels = batch.labels;
  labels.resize(static_cast<std::size_t>(texts * classes));  // a dry run has no labels
  // Report how many texts are right: all of their labels.
  std::vector<std::int32_t> of_texts;
  double right = 0;
  for (index text = 0; text < texts; ++text) {
    const std::span<const float> own =
        std::span(labels).subspan(static_cast<std::size_t>(text * classes), static_cast<std::size_t>(classes));
    of_texts.push_back(static_cast<std::int32_t>(std::ranges::max_element(own) - own.begin()));
    if (!DryRun::active()) {
      const std::span given(logits.data<float>() + text * classes, static_cast<std::size_t>(classes));
      const bool is_right = classify_.several
                                ? std::ranges::equal(own, given, [](float label, float logit) { return (label > 0) == (logit >= 0); })
                                : std::ranges::max_element(given) - given.begin() == of_texts.back();
      right += is_right ? 1 : 0;
    }
  }
  report.sums[0] = right;
  report.sums[1] = static_cast<double>(texts);
  const auto normalizer = static_cast<double>(std::max<index>(batch.step_units, 1));
  return classify_.several ? loss_of_several(pass.tape, logits, labels, normalizer) : loss_of_one(pass.tape, logits, of_texts, normalizer);
}

void ClassifyObjective::report(std::span<const double> sums, StepReport& report) const {
  report.metrics = {{.name = "accuracy", .value = sums[0] / sums[1], .label = "accuracy"}};
}

std::string_view ClassifyObjective::decided_by() const { return kMacroF1; }

std::unique_ptr<Scorer> ClassifyObjective::scorer() const { return std::make_unique<ClassifyScorer>(model_, classify_); }

std::unique_ptr<Objective> ClassifyObjective::twin() const {
  return std::unique_ptr<Objective>(new ClassifyObjective(model_, classify_, weights_));
}

}  // namespace dikkat
