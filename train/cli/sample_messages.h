#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Answers the questions of a JSONL text, which errors call `name`: a conversation or a prompt on each line. Writes each line with its
/// answer to --out or standard output, as soon as it and all before it are complete. With --out, continues after the answers that the file
/// has. `weights_hash` identifies the weights. Ends early if a signal interrupts it. Throws InputError, before any answer, for a line
/// that cannot be answered, for a form that is not possible, and for a file of answers to other questions or by other means.
void answer_messages(const SampleArguments& arguments, const TrainedModel& trained, const std::string& weights_hash,
                     const std::string& name, const std::string& text);

}  // namespace dikkat
