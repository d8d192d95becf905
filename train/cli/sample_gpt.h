#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Continues a prompt and writes the samples to standard output: one after another as they are generated, or all as one JSON object.
void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Continues each line of the input, until the input ends. False if a line could not be continued: then a warning has said why.
bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained);

}  // namespace dikkat
