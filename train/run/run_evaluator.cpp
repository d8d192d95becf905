#include "train/run/run_evaluator.h"

#include <algorithm>
#include <cmath>

#include "train/model/precision.h"
#include "train/run/loss_fingerprint.h"

namespace dikkat {
namespace {

/// Returns how many samples hold about `tokens` tokens of a text; 0 tokens: all samples.
index samples_for(const Dataset& text, double tokens) {
  const index all = text.evaluation()->count();
  if (tokens == 0 || tokens >= static_cast<double>(text.size().tokens)) {
    return all;
  }
  const double share = tokens / static_cast<double>(text.size().tokens);
  return static_cast<index>(std::ceil(share * static_cast<double>(all)));
}

}  // namespace

RunEvaluator::RunEvaluator(std::unique_ptr<Scorer> scorer, const TrainingData& data, const Config& config, std::shared_ptr<Ranks> ranks)
    : scorer_(std::move(scorer)), evaluator_(*scorer_, operand_type(config.train), std::move(ranks)), data_(data) {
  const auto tokens = static_cast<double>(config.train.eval_tokens);
  if (config.train.eval_interval == 0) {
    return;
  }
  for (const SourceData& source : data.sources) {
    if (source.validation->evaluation() != nullptr) {
      const index count = samples_for(*source.validation, tokens * source.share);
      validation_.push_back({.name = source.name, .text = source.validation.get(), .count = count, .share = source.share});
      training_.push_back({.name = source.name, .text = source.train.get(), .count = count, .share = source.share});
    }
  }
  for (const auto& [name, text] : data.evaluations) {
    others_.push_back({.name = name, .text = text.get(), .count = samples_for(*text, tokens), .share = 0});
  }
}

template <class F>
void RunEvaluator::for_parts(F&& f) const {
  for (const std::vector<Part>* parts : {&validation_, &training_, &others_}) {
    for (const Part& part : *parts) {
      f(part);
    }
  }
}

std::optional<EvaluationReport> RunEvaluator::operator()(std::uint64_t seed, index step, const std::function<bool()>& stop,
                                                         const std::function<void(double)>& progress) {
  // Evaluate one part, and report the progress over all. `all` and `done` count samples.
  double all = 0, done = 0;
  const auto count_of = [](const Part& part) { return static_cast<double>(std::min(part.count, part.samples().count())); };
  for_parts([&](const Part& part) { all += count_of(part); });
  const auto evaluate = [&](const Part& part) {
    const SampleChoice choice{.count = part.count, .seed = seed, .draw = static_cast<std::uint64_t>(step)};
    auto result = evaluator_(part.samples(), choice, stop, [&](double share) {
      if (progress) {
        progress((done + share * count_of(part)) / all);
      }
    });
    done += count_of(part);
    return result;
  };
  // Evaluate parts of one kind, and return their weighted mean.
  EvaluationReport report{.step = step, .scored = scored()};
  const bool is_mixed = validation_.size() > 1;
  const auto evaluate_all = [&](const std::vector<Part>& parts, bool by_name) -> std::optional<Evaluation> {
    std::vector<WeightedEvaluation> results;
    for (const Part& part : parts) {
      const auto result = evaluate(part);
      if (!result) {
        return std::nullopt;
      }
      results.push_back({.of = *result, .share = part.share});
      if (by_name) {
        report.losses.push_back({.name = part.name, .loss = result->loss, .standard_error = result->standard_error, .scored = part.scored});
      }
    }
    return parts.empty() || parts.front().share == 0 ? Evaluation() : mean(results);
  };
  // Evaluate all parts, and report their means.
  const auto validation = evaluate_all(validation_, is_mixed);
  const auto training = validation ? evaluate_all(training_, false) : std::nullopt;
  if (!training || !evaluate_all(others_, true)) {
    return std::nullopt;
  }
  report.train_loss = training->loss;
  report.val_loss = validation->loss;
  report.val_standard_error = validation->standard_error;
  report.end_probability = validation->end_probability;
  report.metrics = validation->metrics;
  report.table = validation->table;
  return report;
}

const LossFingerprint& RunEvaluator::scored() {
  if (!scored_) {
    std::vector<SharedFingerprint> sets;
    for (Part& part : validation_) {
      part.scored = loss_fingerprint_of(*part.text, *data_.tokenizer);
      sets.push_back({.of = part.scored, .share = part.share});
    }
    for (Part& part : others_) {
      part.scored = loss_fingerprint_of(*part.text, *data_.tokenizer);
    }
    scored_ = scorer_->fingerprint(combined(sets));
  }
  return *scored_;
}

double RunEvaluator::estimate() {
  double seconds = 0;
  for_parts([&](const Part& part) { seconds += evaluator_.estimate(part.samples(), part.count); });
  return seconds;
}

std::size_t RunEvaluator::reserve() {
  std::size_t bytes = 0;
  for_parts([&](const Part& part) { bytes = std::max(bytes, evaluator_.reserve(part.samples(), part.count)); });
  return bytes;
}

}  // namespace dikkat
