#include "train/run/objectives/preference.h"

#include <algorithm>

#include "train/run/objectives/preference_scorer.h"
#include "train/run/objectives/reference.h"
#include "train/system/out_of_memory.h"

namespace dikkat {

void PreferenceObjective::restore(const std::filesystem::path& run_directory) {
  if (!config_.preference.has_reference()) {
    return;
  }
  const std::filesystem::path file = reference_file(run_directory);
  has_reference_ = read_reference(file, data_, reference_key(data_, state_.base_hash));
  require_input(has_reference_ || state_.step == 0, file.string(),
                " is missing, which holds the log-probabilities of the reference model (preference.method = \"",
                name_of(config_.preference.method), "\"); restore it, or begin a new run");
}

bool PreferenceObjective::prepare(const Preparation& with) {
  if (!config_.preference.has_reference() || has_reference_) {
    return true;
  }
  require(state_.step == 0, "reference: the run is at step ", state_.step, ", expected 0");  // restore() has refused it
  has_reference_ = naming_memory("computing the reference's log-probabilities",
                                 [&] { return compute_reference(model_, config_, data_, with.ranks, with.stop, with.progress); });
  if (has_reference_ && with.directory != nullptr) {
    with.directory->require_held();
    write_reference(reference_file(with.directory->path()), data_, reference_key(data_, state_.base_hash));
  }
  return has_reference_;
}

Tensor PreferenceObjective::loss(Pass& pass, const Batch& batch, PassReport& report) {
  pass.training = false;  // the reference has no dropout
  PreferenceSums sums;
  const Tensor root = preference_.loss(pass, batch, sums);
  report.loss = sums.loss / static_cast<double>(batch.step_units);
  std::ranges::copy(sums.numbers(), report.sums.begin());
  return root;
}

void PreferenceObjective::report(std::span<const double> sums, StepReport& report) const {
  report.metrics = metrics_of(config_.preference, PreferenceSums::from(sums));
}

std::unique_ptr<Scorer> PreferenceObjective::scorer() const { return std::make_unique<PreferenceScorer>(model_, config_.preference); }

std::unique_ptr<Objective> PreferenceObjective::twin() const {
  return std::make_unique<PreferenceObjective>(model_, config_, data_, state_);
}

}  // namespace dikkat
