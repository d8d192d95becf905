#pragma once

#include <string>
#include <string_view>

#include "train/checkpoint/save.h"
#include "train/metrics/reports.h"
#include "train/run/prompt_sampler.h"

namespace dikkat {

/// Receives the events of a trainer. By default nothing happens.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;
  virtual void stepped(const StepReport&) {}
  /// The objective is being prepared for the first step (Objective::prepare()).
  virtual void preparing(std::string_view /*what*/, double /*share_done*/) {}
  virtual void evaluating(double /*share_done*/) {}
  virtual void evaluated(const EvaluationReport&) {}
  /// The model continued a prompt of train.sample_prompts, after an evaluation.
  virtual void sampled(const PromptSampler::Continuation&) {}
  /// The model could not be sampled. The sentence has the reason. The run continues.
  virtual void not_sampled(const std::string&) {}
  virtual void saved(const SavedCheckpoint&) {}
  /// An update was skipped (train.on_nonfinite = "skip"). The sentence names it and the reason.
  virtual void skipped(const std::string&) {}
  /// A file could not be written, and the run continues (train.on_failed_save = "continue"). The sentence has the reason.
  virtual void write_failed(const std::string&) {}
  /// The run was asked to stop, and is saved. Returns the reason for metrics.jsonl, such as "SIGINT", or an empty string.
  virtual std::string stopped() { return ""; }
};

}  // namespace dikkat
