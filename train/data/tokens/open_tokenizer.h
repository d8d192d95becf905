#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/config/data_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Opens the tokenizer of a run (RUN_DIR, newest checkpoint), of a checkpoint (FILE.h5), or from tokenizer files (read_tokenizer_file()).
/// Throws InputError for a source that cannot be used.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& source);

/// Opens nanoGPT's meta.pkl next to the token files of these sources, and adds a note on it. Returns nullptr if there is none. Throws
/// InputError if only some folders of token files have one, or if they differ.
std::unique_ptr<Tokenizer> find_meta_pickle(const std::vector<DataSource>& sources, std::vector<std::string>& notes);

}  // namespace dikkat
