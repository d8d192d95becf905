#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/config/chat_config.h"
#include "train/data/corpus/opened_source.h"

// Sources of conversations. This header is private to its folder.
namespace dikkat {

/// Reads the conversations once. Throws InputError for files that cannot be read, and if the tokenizer is not known.
std::unique_ptr<OpenedSource> open_conversations(const DataConfig& config, const ChatConfig& chat, const SourceReading& reading);

/// Reads whole files for evaluation, without a split.
LoadedText evaluation_of_conversations(const DataConfig& config, const ChatConfig& chat, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& paths);

}  // namespace dikkat
