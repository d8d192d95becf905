#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Answers the prompts of a JSONL text, which warnings call `name`: writes a line for each of its lines. Returns false if a line could not
/// be answered; a warning and the line's field "error" then have the reason.
bool answer_prompts(const SampleArguments& arguments, const TrainedModel& trained, const std::string& name, const std::string& text);

}  // namespace dikkat
