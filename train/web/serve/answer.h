#pragma once

#include <functional>

#include "train/web/serve/job.h"
#include "train/web/serve/served_model.h"

namespace dikkat {

/// Generates the answer of a job with the random numbers of `seed`, and gives it to the job piece by piece. If the job is cancelled, or
/// `stop`, which is called before each token, returns true, the answer ends early and the job fails. Throws nothing.
void answer(const ServedModel& model, Job& job, std::uint64_t seed, PromptCache& prompts, const std::function<bool()>& stop) noexcept;

}  // namespace dikkat
