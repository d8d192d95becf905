#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/corpus/opened_source.h"

// Sources of token files, which other programs wrote. This header is private to its folder.
namespace dikkat {

/// Reads the files once. Throws InputError for files that cannot be read, and if the tokenizer is not known.
std::unique_ptr<OpenedSource> open_shards(const DataConfig& config, const SourceReading& reading);

/// Reads whole files for evaluation, without a split.
LoadedText evaluation_of_shards(const DataConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

}  // namespace dikkat
