#pragma once

#include "train/data/training_data.h"

// Samples for training and evaluation from the tokens of texts.
namespace dikkat {

/// Makes windows of tokens that stand for `bytes` bytes of text. Each prediction occurs once.
EvaluationText evaluation_of_tokens(const Config& config, const Tokenizer& tokenizer, TokenStore store, index bytes);

/// Joins both parts and makes the training windows. Throws InputError, which names the corpus, if there are too few tokens for one window.
SplitText split_of_tokens(const Config& config, const Tokenizer& tokenizer, EvaluationText train, EvaluationText validation);

/// Cuts the text into overlapping windows. The last `stride` predictions of each window count, and the others are context. Throws
/// InputError for pairs, conversations and separate documents (data.pack), and for a stride longer than a window.
void set_stride(EvaluationText& text, const Config& config, index stride);

}  // namespace dikkat
