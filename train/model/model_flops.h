#pragma once

#include "train/data/batch.h"
#include "train/model/language_model.h"

namespace dikkat {

/// Floating-point operations of the matrix products that a forward and backward pass over the batch needs, padding left out and
/// nothing made twice (Chowdhery et al. 2022, PaLM, appendix B): 6 for each weight of a product and token, and 12 H D for each layer's
/// (query, key) pair, causal ones counted once. Of a GPT that is tokens * (6 N + 6 n_layer C T); frozen weights count 4, and those of
/// adapters 6 besides.
double training_flops(const LanguageModel& model, const Batch& batch);

}  // namespace dikkat
