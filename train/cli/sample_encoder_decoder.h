#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Answers every line of the prompt. Returns false if a line could not be answered; its answer is an empty line.
bool answer(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Returns a source's tokens. Prints a warning that begins with `place` if there are words that the model does not know. Throws InputError
/// as encode_source() does.
std::vector<Token> encode_source_at(const std::string& place, const TrainedModel& trained, const std::string& text);

/// Answers some sources. Returns the answers as --prompts writes them, in order; none if a signal interrupts it.
std::vector<nlohmann::ordered_json> answers_of(const SampleArguments& arguments, const TrainedModel& trained,
                                               std::span<const std::vector<Token>> sources);

}  // namespace dikkat
