#pragma once

#include <vector>

#include "train/config/config.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/weight_file.h"

// How answers are drawn, as GGUF files have it: general.sampling.temp, .top_k, .top_p, .min_p, .penalty_repeat and .penalty_last_n.
// llama.cpp takes them as its defaults since November 2025.
namespace dikkat {

/// Adds the values to the metadata of a file.
void add_gguf_sampling(const AnswerSampling& sampling, std::vector<MetaEntry>& metadata);

/// Reads them into config.sampling, and adds a note that names keys of general.sampling which are not used. Throws InputError for values
/// that are not valid.
void read_gguf_sampling(const WeightFile& file, ForeignConfig& config);

}  // namespace dikkat
