#pragma once

#include <functional>

#include "train/web/serve/job.h"
#include "train/web/serve/server_metrics.h"

namespace dikkat {

/// Generates the answer of a job, and gives it to the job piece by piece. If the job is cancelled, or
/// `stop`, which is called before each token, returns true, the answer ends early and the job fails. Throws nothing.
void answer(Job& job, PromptCache& prompts, ServerMetrics& metrics, const std::function<bool()>& stop) noexcept;

}  // namespace dikkat
