#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/training_data.h"

// The pairs of an encoder-decoder, which are the only source of its run. This header is private to its folder.
namespace dikkat {

/// Reads, splits and tokenizes the pairs of a run. Throws InputError as load_training_data() does.
TrainingData load_pairs(const Config& config, const KnownCorpus* known, std::unique_ptr<Tokenizer> tokenizer);

/// Reads whole files for evaluation, without a split.
EvaluationText evaluation_of_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

}  // namespace dikkat
