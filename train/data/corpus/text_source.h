#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/corpus/opened_source.h"

// Sources of texts. This header is private to its folder.
namespace dikkat {

/// Reads the texts once. Throws InputError for files that cannot be read.
std::unique_ptr<OpenedSource> open_text(const Config& config, const SourceReading& reading);

/// Reads whole texts for evaluation, without a split.
EvaluationText evaluation_of_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                  const LoadingProgress& progress);

}  // namespace dikkat
