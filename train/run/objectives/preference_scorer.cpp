#include "train/run/objectives/preference_scorer.h"

#include <algorithm>

#include "train/run/objectives/preference_model.h"
#include "train/system/sha256.h"

namespace dikkat {

index PreferenceScorer::numbers_of(const Samples& text, index sample) const {
  return has_preferences(text) ? 2 * text.units(sample) : texts_.numbers_of(text, sample);
}

void PreferenceScorer::score(Pass& pass, const Batch& batch, std::span<double> numbers) {
  if (batch.answers.empty()) {
    return texts_.score(pass, batch, numbers);
  }
  sum_log_probabilities(batch, texts_.losses(pass, batch), log_probabilities_);
  std::ranges::copy(log_probabilities_, numbers.begin());
}

void PreferenceScorer::judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers,
                             std::vector<SampleLoss>& losses, Evaluation& result) {
  if (!has_preferences(text)) {
    return texts_.judge(text, samples, numbers, losses, result);
  }
  // Read the answers of all samples, whose log-probabilities are known.
  std::vector<Answer> answers;
  std::vector<std::size_t> starts = {0};
  for (const index sample : samples) {
    batch_.reshape(1, text.lengths(sample));
    text.fill(0, sample, 0, batch_);
    answers.insert(answers.end(), batch_.answers.begin(), batch_.answers.end());
    starts.push_back(answers.size());
  }
  // Compute the loss of each sample.
  const double z = divergence_of(config_, answers, numbers);
  PreferenceSums all;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t begin = starts[i], size = starts[i + 1] - begin;
    slopes_.resize(size);
    const PreferenceSums sums = preference_loss(config_, std::span(answers).subspan(begin, size), numbers.subspan(begin, size), slopes_, z);
    losses.push_back({.of = {.loss = sums.loss, .weight = sums.units}});
    all.add(sums);
  }
  result.metrics = metrics_of(config_, all);
}

LossFingerprint PreferenceScorer::fingerprint(const LossFingerprint& tokens) const {
  if (!tokens.is_known()) {
    return tokens;
  }
  // A number that the method does not use does not change the loss.
  const auto used_by = [&](PreferenceMethod method, double number) { return config_.method == method ? number : 0.0; };
  const double numbers[] = {config_.beta,
                            used_by(PreferenceMethod::simpo, config_.gamma),
                            used_by(PreferenceMethod::dpo, config_.label_smoothing),
                            used_by(PreferenceMethod::kto, config_.good_weight),
                            used_by(PreferenceMethod::kto, config_.bad_weight),
                            config_.ordinary_share()};
  const std::string_view rewards = config_.method == PreferenceMethod::kto ? "judged"
                                   : config_.has_reference()               ? "reference"
                                                                           : "no reference";
  const auto add = [](Sha256& hash, std::string_view text) { hash.add(std::as_bytes(std::span(text))); };
  Sha256 targets, contexts;
  add(targets, tokens.targets);
  add(targets, rewards);
  add(contexts, tokens.contexts);
  add(contexts, name_of(config_.method));
  contexts.add(std::as_bytes(std::span(numbers)));
  return {.targets = to_hex(targets.finish()), .contexts = to_hex(contexts.finish()), .text = ""};
}

}  // namespace dikkat
