#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "train/cli/sample_arguments.h"
#include "train/model/trained_model.h"
#include "train/sample/text_generation.h"

namespace dikkat {

/// Continues a prompt and writes the samples to standard output: one after another while they are generated, or all as one JSON object.
void continue_text(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Continues each line of the input, until the input ends. Returns false if a line could not be continued; a warning has then named the
/// reason.
bool answer_lines(const SampleArguments& arguments, const TrainedModel& trained);

/// Returns the tokens of a prompt, after the token that begins every text, if there is one. Warns of words that a
/// word tokenizer does not know. Throws InputError for a prompt that cannot be encoded, or has no tokens.
std::vector<Token> encode_prompt(const SampleArguments& arguments, const TrainedModel& trained, const std::string& prompt);

/// Continues prompts as the command line's options want, until a signal interrupts it.
TextGeneration continue_prompts(const SampleArguments& arguments, const TrainedModel& trained, std::vector<std::vector<Token>> prompts);

/// Prints a message if a text outgrew the model's context. Returns whether it did.
bool report_if_outgrown(const TextGeneration& generation, const TrainedModel& trained, index num_samples);

/// Prints a message if texts were cut before the form that they must have was complete.
void report_cut_forms(index count);

/// Returns a sample as --json and --prompts write it.
nlohmann::ordered_json json_of(const TextGeneration::Ended& ended, bool with_log_probabilities);

}  // namespace dikkat
