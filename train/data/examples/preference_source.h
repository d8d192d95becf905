#pragma once

#include <memory>

#include "train/data/corpus/opened_source.h"

// The source of a run that learns preferences. This header is private to its folder.
namespace dikkat {

/// Reads the examples once. Throws InputError for files that cannot be read or that preference.method does not suit, and if the tokenizer
/// is not known.
std::unique_ptr<OpenedSource> open_preferences(const Config& config, const SourceReading& reading);

}  // namespace dikkat
