#pragma once

#include <string>

#include "train/text/bpe_vocabulary.h"

namespace dikkat {

/// GPT-2's two files (openai/gpt-2, download_model.py). They hold only tokens and merges; the splitter, the normal form and the flags of
/// added tokens are GPT-2's.
struct Gpt2Files {
  std::string vocab_bpe;     // "#version: 0.2", then one merge on each line: two tokens with a space between
  std::string encoder_json;  // an object with the id of each token
};
/// Returns whether GPT-2's files can hold a vocabulary completely.
bool has_gpt2_rules(const BpeVocabulary& vocabulary);
/// Writes a vocabulary to GPT-2's files. Throws InputError unless has_gpt2_rules().
Gpt2Files gpt2_files(const BpeVocabulary& vocabulary);
/// Reads GPT-2's files, which may come from anywhere. <|endoftext|> becomes a special token if it has an id. Throws InputError for other
/// kinds of files.
BpeVocabulary from_gpt2_files(const Gpt2Files& files);

}  // namespace dikkat
