#pragma once

#include <memory>
#include <string>

#include "train/config/config.h"
#include "train/data/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The corpus of a run as tokens, split for training and validation.
struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenStore train, validation;
  index documents = 0;
  index bytes = 0;             // of all text
  index validation_bytes = 0;  // of the validation part
  std::string fingerprint;     // of the corpus: equal text, equal fingerprint
};

/// Reads, splits and tokenizes the corpus that the configuration names. The tokenizer is made from the text, or is the one whose
/// JSON is given. Throws InputError for a corpus that cannot be read or has too few tokens for one window of block_size.
TrainingData load_training_data(const Config& config, const std::string* tokenizer_json = nullptr);

/// A text to be evaluated: all of the paths' files, not split.
struct EvaluationText {
  TokenStore tokens;
  index bytes = 0;
};
/// Throws InputError for what cannot be read or tokenized.
EvaluationText load_evaluation_text(const Tokenizer& tokenizer, const std::vector<std::string>& paths);

}  // namespace dikkat
