#include "train/model/extended_model.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

std::vector<std::string> token_tables(const TransformerConfig& config) {
  TransformerConfig larger = config;
  larger.vocab_size = config.vocab_size + 1;
  const LanguageModel model(config, config.vocab_size), other(larger, larger.vocab_size);  // their parameters have no memory
  std::vector<std::string> paths;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    if (other.parameters().entry(entry->path).shape() != entry->shape()) {
      paths.push_back(entry->path);
    }
  }
  return paths;
}

namespace {

/// Writes the mean of some rows of a matrix into another row of it.
void write_mean(float* matrix, index width, const std::vector<Token>& rows, index to) {
  for (index column = 0; column < width; ++column) {
    double sum = 0;
    for (const Token row : rows) {
      sum += static_cast<double>(matrix[row * width + column]);
    }
    matrix[to * width + column] = static_cast<float>(sum / static_cast<double>(rows.size()));
  }
}

}  // namespace

TrainedModel extended(TrainedModel old, TokenizerExtension extension) {
  const index size = extension.tokenizer->vocab_size();
  require(extension.first == old.tokenizer->vocab_size() && extension.first + std::ssize(extension.pieces) == size,
          "extended model: new tokens from ", extension.first, " to ", size, " for a vocabulary of ", old.tokenizer->vocab_size());
  Config config = std::move(old.config);
  config.model.vocab_size = std::max<index>(old.model->vocab_size(), size);
  auto model = std::make_unique<LanguageModel>(config.model, size);
  model->parameters().reserve();
  const std::vector<std::string> tables = token_tables(model->config());
  for (const ParameterStore::Entry* to : model->parameters().entries()) {
    const ParameterStore::Entry& from = old.model->parameters().entry(to->path);
    auto* const values = static_cast<float*>(to->values);
    std::copy_n(static_cast<const float*>(from.values), from.size(), values);
    if (std::ranges::find(tables, to->path) != tables.end()) {
      for (std::size_t i = 0; i < extension.pieces.size(); ++i) {
        write_mean(values, to->shape()[1], extension.pieces[i], extension.first + static_cast<index>(i));
      }
    }
  }
  return {
      .origin = std::move(old.origin), .config = std::move(config), .tokenizer = std::move(extension.tokenizer), .model = std::move(model)};
}

}  // namespace dikkat
