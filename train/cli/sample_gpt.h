#pragma once

#include <nlohmann/json.hpp>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Samples that go on from a prompt, to standard output: one as it is made, several one after another, or one JSON object.
void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// A line is a prompt; an answer after the other, until the input ends.
/// False where some line could not be answered, which is then told.
bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained);

/// One line.
void put_json(const nlohmann::ordered_json& object);

}  // namespace dikkat
