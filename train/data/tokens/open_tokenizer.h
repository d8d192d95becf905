#pragma once

#include <memory>
#include <string>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Opens the tokenizer of a run (RUN_DIR, newest checkpoint), of a checkpoint (FILE.h5), or from tokenizer files (read_tokenizer_file()).
/// Throws InputError for a source that cannot be used.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& source);

}  // namespace dikkat
