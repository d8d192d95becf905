#pragma once

#include <string>
#include <string_view>

#include "train/checkpoint/save.h"
#include "train/metrics/reports.h"
#include "train/run/prompt_sampler.h"

namespace dikkat {

/// Receives what a trainer does while it works. By default nothing happens.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;
  virtual void stepped(const StepReport&) {}
  /// What must be known before the first step is being computed (Objective::prepare()).
  virtual void preparing(std::string_view /*what*/, double /*share_done*/) {}
  virtual void evaluating(double /*share_done*/) {}
  virtual void evaluated(const EvaluationReport&) {}
  /// The model continued a prompt of train.sample_prompts, after an evaluation.
  virtual void sampled(const PromptSampler::Continuation&) {}
  /// The model could not be sampled. The sentence says why. The run continues.
  virtual void not_sampled(const std::string&) {}
  virtual void saved(const SavedCheckpoint&) {}
  /// An update was skipped (train.on_nonfinite = "skip"). The sentence says which and why.
  virtual void skipped(const std::string&) {}
  /// A file could not be written, and the run continues (train.on_failed_save = "continue"). The sentence says why.
  virtual void write_failed(const std::string&) {}
  /// The run was asked to stop, and is saved. Returns the reason for metrics.jsonl, such as "SIGINT", or an empty text.
  virtual std::string stopped() { return ""; }
};

}  // namespace dikkat
