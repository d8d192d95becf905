#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/choices/tokenizer.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Reads a tokenizer from a file. `path` is one of
/// - a file with the result of Tokenizer::to_json(),
/// - a Hugging Face tokenizer.json; a tokenizer_config.json next to it names bos and eos,
/// - GPT-2's vocab.bpe or encoder.json, next to each other (also called merges.txt and vocab.json),
/// - nanoGPT's vocabulary: its meta.pkl, also written as JSON, {"stoi": {"a": 0, ...}},
/// - a folder with a tokenizer.json, GPT-2's files or a meta.pkl.
/// Throws InputError, which names the file, for anything else. If the files of a folder disagree, adds a remark for the user to `notes`,
/// unless it is null, on which of them counts.
std::unique_ptr<Tokenizer> read_tokenizer_file(const std::string& path, std::vector<std::string>* notes = nullptr);

inline constexpr const char* kMetaPickle = "meta.pkl";

/// Makes a tokenizer of symbols. The file has one in each row, and a line break and <|endoftext|> are added (completed()); or it is a
/// meta.pkl, whose symbols are all. Throws InputError, which names the file and the row, if it has anything else, and for symbols that
/// symbol_pipeline() refuses.
std::unique_ptr<Tokenizer> read_symbols(const std::string& path, SymbolSplit split);

}  // namespace dikkat
