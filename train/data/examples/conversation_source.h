#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/corpus/opened_source.h"

// Sources of conversations. This header is private to its folder.
namespace dikkat {

/// Reads the conversations once. Throws InputError for files that cannot be read, and if the tokenizer is not known.
std::unique_ptr<OpenedSource> open_conversations(const Config& config, const SourceReading& reading);

/// Reads whole files for evaluation, without a split.
EvaluationText evaluation_of_conversations(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

}  // namespace dikkat
