#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/cli/sample_events.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Answers every line of the prompt. False if a line could not be answered; its answer is an empty line.
bool answer(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// A source's tokens. Words that the model does not know give a warning, which begins with `place`. Throws InputError as encode_source()
/// does.
std::vector<Token> encode_source_at(const std::string& place, const TrainedModel& trained, const std::string& text);

/// Answers sources, in order, until it is interrupted.
void answer_all(const SampleArguments& arguments, const TrainedModel& trained, const std::vector<std::vector<Token>>& sources,
                const AnswerEvents& events);

}  // namespace dikkat
