#pragma once

#include "train/data/samples/batch.h"
#include "train/model/language_model.h"

namespace dikkat {

/// Returns the floating-point operations of the matrix products in a forward and backward pass over the batch (Chowdhery et al. 2022, PaLM,
/// appendix B), without padding and recomputation. Each weight of a product costs 6 per token, and each (query, key) pair 12 H D per layer.
/// Causal attention has half of the pairs, and a window fewer. A GPT needs tokens * (6 N + 6 n_layer C T). A frozen weight costs 4, and an
/// adapter's weight 6.
double training_flops(const LanguageModel& model, const Batch& batch);

}  // namespace dikkat
