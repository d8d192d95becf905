#pragma once

#include <optional>
#include <span>
#include <string>

#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/tokens/token_store.h"

/// Token files of other programs, mapped into memory. nanoGPT's train.bin and val.bin have only ids, usually of 16 bits (token_form.h).
/// llm.c's shards have a header (karpathy/llm.c, dev/data/data_common.py).
namespace dikkat {

inline constexpr std::string_view kTokenExtensions[] = {".bin"};

/// Returns whether all paths are token files, judged by their names. Throws InputError if only some are.
bool are_token_shards(std::span<const std::string> paths);

using TokenShards = std::vector<std::shared_ptr<const CheckedFile>>;

/// Maps the files and reads each once, for CheckedFile's sums and for `fingerprint`, if not null. Each file is a document of the
/// fingerprint.
TokenShards map_token_shards(std::span<const CorpusFile> files, Fingerprint* fingerprint = nullptr);

/// Opens the tokens of all files, one after another, and checks every id. Throws InputError, which names the file, for a wrong header or
/// size, and for an id that is not below vocab_size. A document ends with `separator`; without one, everything is one document. Adds to
/// `notes`, if not null, which headerless files have ids that are not 16 bits wide.
TokenStore open_token_shards(const TokenShards& files, index vocab_size, std::optional<Token> separator,
                             std::vector<std::string>* notes = nullptr);

}  // namespace dikkat
