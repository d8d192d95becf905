#pragma once

#include <string>

#include "train/text/bpe_vocabulary.h"

namespace dikkat {

/// GPT-2's two files (openai/gpt-2, download_model.py). They hold tokens and merges; splitter, normal form and the flags of added tokens
/// are GPT-2's.
struct Gpt2Files {
  std::string vocab_bpe;     // "#version: 0.2", then one merge on each line: two tokens with a space between
  std::string encoder_json;  // an object with the id of each token
};
/// Whether such files say all that is needed.
bool has_gpt2_rules(const BpeVocabulary& vocabulary);
/// Throws InputError unless has_gpt2_rules().
Gpt2Files gpt2_files(const BpeVocabulary& vocabulary);
/// Reads them; they may come from anywhere. <|endoftext|> becomes a special token if it has an id. Throws InputError for files of another
/// kind.
BpeVocabulary from_gpt2_files(const Gpt2Files& files);

}  // namespace dikkat
