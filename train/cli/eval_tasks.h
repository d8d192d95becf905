#pragma once

#include <string>

#include "train/model/trained_model.h"

namespace dikkat {

/// Asks a GPT the questions in a file of JSONL (train/sample/questions.h) and prints how many it answers, with confidence intervals; with
/// `json` as an object. A model that was trained on conversations is asked in its template. Returns the exit code.
int eval_tasks(const TrainedModel& trained, const std::string& file, bool json);

}  // namespace dikkat
