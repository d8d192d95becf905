#pragma once

#include <memory>
#include <string>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The tokenizer of a run (RUN_DIR, by its newest checkpoint), of a checkpoint (FILE.h5), or in files of its own (read_tokenizer_file()).
/// Throws InputError for a source that cannot be used.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& source);

}  // namespace dikkat
