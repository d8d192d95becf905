#include "train/data/tokens/open_tokenizer.h"

#include <filesystem>

#include "train/checkpoint/checkpoint_list.h"
#include "train/system/folder.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& source) {
  const std::filesystem::path path(source);
  if (path.extension() == ".h5" || is_folder(checkpoint_directory(path))) {
    const CheckpointFile checkpoint = open_checkpoint(source, CheckpointChoice::newest);
    require_language_model(checkpoint);
    return tokenizer_from_json(checkpoint.tokenizer());
  }
  return read_tokenizer_file(source);
}

}  // namespace dikkat
