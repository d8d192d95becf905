#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Answers the prompts of a JSONL text, which warnings call `name`: writes a line for each of its lines. False if a line could not be
/// answered. Then a warning has said why, and its line says it too.
bool answer_prompts(const SampleArguments& arguments, const TrainedModel& trained, const std::string& name, const std::string& text);

}  // namespace dikkat
