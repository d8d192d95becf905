#pragma once

#include "train/checkpoint/snapshot.h"
#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/run/objectives/objective.h"
#include "train/run/objectives/preference_model.h"

namespace dikkat {

/// Learns preferences from pairs or judged answers (preference_loss.h). Methods with a reference compute its log-probabilities before the
/// first step, and keep them in the run's folder.
class PreferenceObjective : public Objective {
 public:
  /// Keeps references. The data gets the reference's log-probabilities.
  PreferenceObjective(const LanguageModel& model, const Config& config, TrainingData& data, const TrainingState& state)
      : model_(model), config_(config), data_(data), state_(state), preference_(model, config.preference) {}

  void restore(const std::filesystem::path& run_directory) override;
  bool prepare(const Preparation& with) override;
  std::string_view preparation() const override { return "log-probabilities of the reference"; }
  bool scores_training() const override { return config_.preference.has_reference(); }
  bool identifies_base() const override { return config_.preference.has_reference(); }

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::size_t sums() const override { return PreferenceSums::kNumbers; }
  void report(std::span<const double> sums, StepReport& report) const override;
  std::string_view decided_by() const override { return kPreferenceAccuracy; }
  std::unique_ptr<Scorer> scorer() const override;
  std::unique_ptr<Objective> twin() const override;

 protected:
  std::vector<Tape*> tapes() override { return {&preference_.scoring()}; }

 private:
  const LanguageModel& model_;
  const Config& config_;
  TrainingData& data_;
  const TrainingState& state_;
  PreferenceModel preference_;
  bool has_reference_ = false;  // the reference's log-probabilities are known
};

}  // namespace dikkat
