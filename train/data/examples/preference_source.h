#pragma once

#include <memory>

#include "train/config/chat_config.h"
#include "train/config/preference_config.h"
#include "train/data/corpus/opened_source.h"

// The source of a run that learns preferences. This header is private to its folder.
namespace dikkat {

/// Reads the examples once. Throws InputError for files that cannot be read or do not suit preference.method, and if the tokenizer is not
/// known.
std::unique_ptr<OpenedSource> open_preferences(const DataConfig& config, const ChatConfig& chat, const PreferenceConfig& preference,
                                               const SourceReading& reading);

}  // namespace dikkat
