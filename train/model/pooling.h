#pragma once

#include "train/config/embedding_config.h"
#include "train/model/language_model.h"

namespace dikkat {

/// Returns a vector for each text of the batch (Batch::texts), (texts, C), from the features of all positions, (B, T, C). The result is of
/// f32, or of f64 as the features are. Sums have a fixed order. Throws Error if the features have another shape, or the batch has no text.
Tensor pool(Pass& pass, Tensor features, const Batch& batch, Pooling pooling);

/// Runs the model on the batch, and returns pool() of its features. Throws InputError for an encoder-decoder.
Tensor pooled_features(const LanguageModel& model, Pass& pass, const Batch& batch, Pooling pooling);

}  // namespace dikkat
