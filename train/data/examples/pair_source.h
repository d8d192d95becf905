#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/training_data.h"

// The pairs of an encoder-decoder, which are the only source of its run. This header is private to its folder.
namespace dikkat {

/// Reads, splits and tokenizes the pairs of a run. The tokenizer may be null; then one of this kind is made from the pairs. Throws
/// InputError as load_training_data() does.
TrainingData load_pairs(const DataConfig& config, const TokenizerConfig& kind, index block_size, const KnownCorpus* known,
                        std::unique_ptr<Tokenizer> tokenizer);

}  // namespace dikkat
