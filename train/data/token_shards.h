#pragma once

#include <optional>
#include <span>
#include <string>

#include "train/data/corpus_files.h"
#include "train/data/token_store.h"

/// Token files of other programs, mapped into memory: nanoGPT's train.bin and val.bin, which have only 16-bit ids, and llm.c's shards,
/// which have a header (karpathy/llm.c, dev/data/data_common.py).
namespace dikkat {

inline constexpr std::string_view kTokenExtensions[] = {".bin"};

/// Whether all paths are such files, judged by their names. Throws InputError if only some are.
bool are_token_shards(std::span<const std::string> paths);

/// The tokens of all files, in order. Every id is checked. Throws InputError, which names the file, for a wrong header or size, and for an
/// id that is not below vocab_size. If there is a `separator`, documents are what lies between separators.
TokenStore open_token_shards(std::span<const CorpusFile> files, index vocab_size, std::optional<Token> separator);

}  // namespace dikkat
