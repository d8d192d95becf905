#pragma once

#include <functional>

#include "train/web/serve/job.h"
#include "train/web/serve/served_model.h"

namespace dikkat {

/// Generates the answer of a job and gives it to the job, piece by piece. `seed` draws it. It ends early when the job is cancelled, or
/// `stop` returns true, which it asks before each token; then the job fails. Throws nothing.
void answer(const ServedModel& model, Job& job, std::uint64_t seed, PromptCache& prompts, const std::function<bool()>& stop) noexcept;

}  // namespace dikkat
