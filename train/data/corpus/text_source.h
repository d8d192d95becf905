#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/corpus/opened_source.h"

// Sources of texts. This header is private to its folder.
namespace dikkat {

/// The rules of a run for its texts.
struct TextRules {
  std::string tokenizer_kind{};  // tokenizer.kind, for a tokenizer that is still to be made
  bool refuses_json = false;     // for a run that starts from a trained model: trains on texts, not on brackets and commas of other data
};

/// Reads the texts once. Throws InputError for files that cannot be read.
std::unique_ptr<OpenedSource> open_text(const DataConfig& config, const TextRules& rules, const SourceReading& reading);

/// Reads whole texts for evaluation, without a split.
LoadedText evaluation_of_text(const DataConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                              const LoadingProgress& progress);

}  // namespace dikkat
