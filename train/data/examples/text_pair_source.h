#pragma once

#include <memory>

#include "train/config/config.h"
#include "train/data/corpus/opened_source.h"

// The source of a run that learns vectors. This header is private to its folder.
namespace dikkat {

/// Reads the pairs once. Throws InputError for files that cannot be read or hold something else, and if the tokenizer is not known.
std::unique_ptr<OpenedSource> open_text_pairs(const Config& config, const DataConfig& source, const SourceReading& reading);

/// Reads pairs for an evaluation. Throws InputError if there are none whose sides differ.
LoadedText evaluation_of_text_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

}  // namespace dikkat
