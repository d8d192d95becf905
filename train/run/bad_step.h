#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"
#include "optim/optimizer.h"
#include "train/data/loader.h"
#include "train/metrics/reports.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The first tensor that has a NaN or an infinity: weights are searched first, then the optimizer's state, then gradients.
struct NotFinite {
  std::string tensor;  // "weight h.0.attn.c_attn.weight", "first moment of ...", "gradient of ..."; empty: none has one
  bool in_gradients = false;
};
NotFinite first_not_finite(ParameterStore& parameters, Optimizer& optimizer);

/// A step whose update must not be applied.
struct BadStep {
  StepReport report;
  std::string reason;
  std::vector<double> losses;  // of its micro-batches
};

/// Writes RUN_DIR/bad-step-N.json, for people and scripts: the reason, and every row of the step's batches, which begin at sample
/// `first_sample` of the run, as text and as tokens. Returns the file. Throws Error if it cannot be written.
std::filesystem::path write_bad_step(const std::filesystem::path& run_directory, const BadStep& step, const Loader& loader,
                                     index first_sample, index batch_size, const Tokenizer& tokenizer);

}  // namespace dikkat
