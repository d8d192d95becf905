#pragma once

#include <string>

#include "train/cli/sample_arguments.h"
#include "train/cli/sample_events.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Continues a prompt and writes the samples to standard output: one after another as they are generated, or all as one JSON object.
void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// The prompt as the tokenizer's owner encodes it: after the token that begins every text, if there is one. Throws InputError for a prompt
/// that cannot be encoded, or has no tokens.
std::vector<Token> encode_prompt(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Continues prompts of one token or more, several together, until it is interrupted.
void continue_all(const SampleArguments& arguments, const TrainedModel& trained, const std::vector<std::vector<Token>>& prompts,
                  const AnswerEvents& events);

/// Continues each line of the input, until the input ends. False if a line could not be continued: then a warning has said why.
bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained);

}  // namespace dikkat
