#include "train/data/tokens/open_tokenizer.h"

#include <filesystem>
#include <optional>

#include "train/checkpoint/checkpoint_list.h"
#include "train/data/tokens/token_shards.h"
#include "train/system/file.h"
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

std::unique_ptr<Tokenizer> find_meta_pickle(const std::vector<DataSource>& sources, std::vector<std::string>& notes) {
  namespace fs = std::filesystem;
  std::unique_ptr<Tokenizer> found;
  std::optional<fs::path> first;  // a folder of token files
  for (const DataSource& source : sources) {
    if (!are_token_shards(source.corpus)) {
      continue;
    }
    for (const CorpusFile& file : find_corpus_files(source.corpus, kTokenExtensions)) {
      const fs::path folder = fs::path(file.path).parent_path(), pickle = folder / kMetaPickle;
      if (first == folder) {
        continue;
      }
      auto tokenizer = is_there(pickle) ? read_tokenizer_file(pickle.string()) : nullptr;
      if (!first) {
        first = folder;
        found = std::move(tokenizer);
        if (found != nullptr) {
          notes.push_back(concat("the names of the ", found->vocab_size(), " tokens are those in ", pickle.string()));
        }
        continue;
      }
      const auto json_of = [](const Tokenizer* some) { return some == nullptr ? "" : some->to_json(); };
      require_input(json_of(tokenizer.get()) == json_of(found.get()), "the token files in ", first->string(), " and ", folder.string(),
                    " do not have the same ", kMetaPickle, ": set tokenizer.path to the tokenizer that made both");
    }
  }
  return found;
}

}  // namespace dikkat
