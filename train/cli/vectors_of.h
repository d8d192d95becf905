#pragma once

#include "train/config/embedding_config.h"
#include "train/model/model_origin.h"

namespace dikkat {

/// Returns how a model's features become vectors: as its run has trained them, as the folder's sentence-transformers files say, or else by
/// their mean. Throws InputError for such files that ask for something else.
Pooling pooling_of(const ModelOrigin& origin);

}  // namespace dikkat
