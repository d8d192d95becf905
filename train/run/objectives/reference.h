#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/model/language_model.h"
#include "train/parallel/ranks.h"

// The reference of preference tuning is the model as it is when the run starts: the base of adapters, or the first weights of a run that
// trains all of them. Only its log-probabilities are needed. They are computed once, before the first step, and kept in the run's folder.
namespace dikkat {

/// Identifies what the log-probabilities were computed from: hashes of the reference's weights, of the chat template, and of all answers'
/// tokens.
struct ReferenceKey {
  std::string base, chat_template, tokens;
};
ReferenceKey reference_key(const TrainingData& data, const std::string& base_hash);

/// Computes the log-probabilities of all answers for training and validation, and sets them in the data. The ranks share the work and get
/// equal results. Batches have the shape of those of training, so the numbers have the bits that a training step computes for the same
/// weights. Calls `stop` between batches, and returns false if it returns true. Calls `progress` with the share that is done.
bool compute_reference(const LanguageModel& model, const Config& config, TrainingData& data, Ranks& ranks,
                       const std::function<bool()>& stop, const std::function<void(double)>& progress);

/// Returns RUN_DIR/reference.json.
std::filesystem::path reference_file(const std::filesystem::path& run_directory);
/// Writes the data's log-probabilities. Throws Error if that fails.
void write_reference(const std::filesystem::path& file, const TrainingData& data, const ReferenceKey& key);
/// Reads the data's log-probabilities from a file. Returns false if the file does not exist. Throws InputError, which begins with the path,
/// if the file is damaged, or was written for another base, another template or other answers.
bool read_reference(const std::filesystem::path& file, TrainingData& data, const ReferenceKey& key);

}  // namespace dikkat
