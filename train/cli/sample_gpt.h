#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Samples that go on from a prompt, to standard output: one after another as they are made, or all as one JSON object.
void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Takes each line of the input as a prompt and answers it, until the input ends. False where a line could not be answered; a warning
/// has said why then.
bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained);

}  // namespace dikkat
