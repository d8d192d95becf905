#pragma once

#include <string>

#include "train/model/trained_model.h"

namespace dikkat {

/// Asks a GPT the questions in a JSONL file (train/sample/questions.h) and prints the share that it answers correctly, with confidence
/// intervals; as one JSON object if `json`. A model trained on conversations is asked in its chat template. Returns the exit code.
int eval_tasks(const TrainedModel& trained, const std::string& file, bool json);

}  // namespace dikkat
