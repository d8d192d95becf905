#pragma once

#include <memory>
#include <string>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The tokenizer in a file: what Tokenizer::to_json() gave; a tokenizer.json of Hugging Face; GPT-2's vocab.bpe and encoder.json, or
/// merges.txt and vocab.json as they are called elsewhere, by one of the two or by their folder; nanoGPT's vocabulary of characters, which
/// is meta.pkl written as JSON: {"stoi": {"a": 0, ...}}. Throws InputError, which names the file, for anything else.
std::unique_ptr<Tokenizer> read_tokenizer_file(const std::string& path);

}  // namespace dikkat
