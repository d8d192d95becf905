#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Reads a tokenizer from a file. `path` is one of
/// - a file with what Tokenizer::to_json() returned,
/// - a tokenizer.json of Hugging Face; a tokenizer_config.json beside it names bos and eos,
/// - GPT-2's vocab.bpe or encoder.json, beside each other (elsewhere these are called merges.txt and vocab.json),
/// - nanoGPT's vocabulary of characters: its meta.pkl written as JSON, {"stoi": {"a": 0, ...}},
/// - a folder with a tokenizer.json or GPT-2's files.
/// Throws InputError, which names the file, for anything else. Adds remarks for people to `notes`, if it is given: where the files of a
/// folder disagree, and which of them counts.
std::unique_ptr<Tokenizer> read_tokenizer_file(const std::string& path, std::vector<std::string>* notes = nullptr);

}  // namespace dikkat
