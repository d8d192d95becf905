#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config/embedding_config.h"

// The files with which sentence-transformers makes vectors of a Hugging Face folder: modules.json lists a transformer, a pooling and a
// normalization.
namespace dikkat {

/// How the model of a folder makes vectors.
struct VectorFiles {
  Pooling pooling = Pooling::mean;
  index width = 0;    // of a vector
  index window = 0;   // the most tokens of a text
  std::string pad{};  // the name of the token that pads a batch, if the tokenizer's files name none; empty: there is none
};
/// Writes the files into a folder that has a model and its tokenizer.
void write_vector_files(const std::filesystem::path& folder, const VectorFiles& files);

/// Returns the pooling of a folder's files; the mean if there are none. Adds a note if they ask for one that dikkat does not have. Throws
/// InputError for a damaged file.
Pooling read_pooling(const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace dikkat
