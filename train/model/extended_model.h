#pragma once

#include <string>
#include <vector>

#include "train/model/trained_model.h"
#include "train/text/tokenizer_extender.h"

namespace dikkat {

/// Returns the paths of the matrices that have a row for each token: the embedding, a head of its own, tables of value embeddings.
std::vector<std::string> token_tables(const TransformerConfig& config);

/// Returns the model with the tokenizer of the extension. The rows of a new token are the means of its pieces' rows, and all other weights
/// are kept. Rows that padded the matrices become those of new tokens first; only then do the matrices grow.
TrainedModel extended(TrainedModel old, TokenizerExtension extension);

}  // namespace dikkat
