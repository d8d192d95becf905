#pragma once

#include <optional>
#include <span>
#include <string>

#include "train/data/corpus_files.h"
#include "train/data/token_store.h"

/// Files of tokens that other programs write, mapped into memory: nanoGPT's train.bin and val.bin, which are ids of 16 bits and nothing
/// else, and llm.c's shards, which have a header (karpathy/llm.c, dev/data/data_common.py).
namespace dikkat {

inline constexpr std::string_view kTokenExtensions[] = {".bin"};

/// Whether all the paths name such files, by their names. Throws InputError where some do and others do not.
bool are_token_shards(std::span<const std::string> paths);

/// The files one after another. Every id is looked at. Throws InputError that names the file for one whose header or size is wrong, and for
/// an id that is not below vocab_size. `separator`, where there is one, is what documents are taken to lie between.
TokenStore open_token_shards(std::span<const CorpusFile> files, index vocab_size, std::optional<Token> separator);

}  // namespace dikkat
