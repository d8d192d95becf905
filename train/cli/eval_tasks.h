#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "train/model/trained_model.h"
#include "train/sample/questions.h"

namespace dikkat {

/// Asks a GPT the questions in a JSONL file (train/sample/questions.h). A model trained on conversations is asked in its chat template.
/// Returns nullopt if a signal asked the program to stop. Throws InputError, which names the file and the line, for a bad question.
std::optional<Answers> ask_tasks(const TrainedModel& trained, const std::string& file);

/// Returns the share of right answers of each kind of question, with confidence intervals.
nlohmann::ordered_json object_of(const Answers& answers);

/// Asks a GPT the questions in a JSONL file (train/sample/questions.h) and prints the share that it answers correctly, with confidence
/// intervals; as one JSON object if `json`. A model trained on conversations is asked in its chat template. Returns the exit code.
int eval_tasks(const TrainedModel& trained, const std::string& file, bool json);

}  // namespace dikkat
