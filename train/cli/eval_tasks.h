#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/model/trained_model.h"
#include "train/sample/questions.h"

namespace dikkat {

/// Reads a JSONL file of questions (train/sample/questions.h). Throws InputError, which names the file and the line, for a bad question,
/// and for one that does not fit the options or the first question.
std::vector<Question> read_questions(const std::string& file, const AskOptions& options = {});

/// Asks a GPT questions. A model that was trained on conversations, or has a chat template of its own, is asked in its template. Returns
/// nullopt if a signal asked the program to stop. The option `encode` does not count. Throws what ask() throws.
std::optional<Answers> ask_tasks(const TrainedModel& trained, const std::vector<Question>& questions, AskOptions options = {});

/// Returns the share of right answers by each measure, with standard errors and confidence intervals.
nlohmann::ordered_json object_of(const Answers& answers);

/// Asks questions as ask_tasks() does, and prints the shares of right answers, as one JSON object if `json`. With a model `beside` it, also
/// prints that model's shares, and the differences between the two with their standard errors. Returns the exit code.
int eval_tasks(const TrainedModel& trained, const TrainedModel* beside, const std::vector<Question>& questions, const AskOptions& options,
               bool json);

}  // namespace dikkat
