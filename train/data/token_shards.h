#pragma once

#include <optional>
#include <span>
#include <string>

#include "train/data/corpus_files.h"
#include "train/data/fingerprint.h"
#include "train/data/token_store.h"

/// Token files of other programs, mapped into memory: nanoGPT's train.bin and val.bin, which have only ids (16 bits each, or as
/// token_form.h finds), and llm.c's shards, which have a header (karpathy/llm.c, dev/data/data_common.py).
namespace dikkat {

inline constexpr std::string_view kTokenExtensions[] = {".bin"};

/// Whether all paths are such files, judged by their names. Throws InputError if only some are.
bool are_token_shards(std::span<const std::string> paths);

using TokenShards = std::vector<std::shared_ptr<const CheckedFile>>;

/// Maps the files and reads each once, for the sums that CheckedFile has and for `fingerprint`, if not null, in which a file is a document.
TokenShards map_token_shards(std::span<const CorpusFile> files, Fingerprint* fingerprint = nullptr);

/// The tokens of all files, in order. Every id is checked. Throws InputError, which names the file, for a wrong header or size, and for an
/// id that is not below vocab_size. If there is a `separator`, documents are what lies between separators. Adds to `notes`, if not null,
/// which headerless files have ids of other than 16 bits.
TokenStore open_token_shards(const TokenShards& files, index vocab_size, std::optional<Token> separator,
                             std::vector<std::string>* notes = nullptr);

}  // namespace dikkat
