#include "train/data/tokens/open_tokenizer.h"

#include <filesystem>
#include <map>

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
  constexpr index kMostBytes = index{1} << 24;
  std::map<std::string, std::string> pickles;  // by contents, which are empty for a missing file; the paths
  for (const DataSource& source : sources) {
    for (const CorpusFile& file :
         are_token_shards(source.corpus) ? find_corpus_files(source.corpus, kTokenExtensions) : std::vector<CorpusFile>()) {
      const std::filesystem::path path = std::filesystem::path(file.path).parent_path() / kMetaPickle;
      pickles.emplace(is_there(path) ? read_bytes(path, kMostBytes) : "", path.string());
    }
  }
  if (pickles.empty() || (pickles.size() == 1 && pickles.begin()->first.empty())) {
    return nullptr;
  }
  require_input(pickles.size() == 1, "token files lie next to different vocabularies, or only some next to one: ", pickles.begin()->second,
                " and ", pickles.rbegin()->second, "; set tokenizer.path to the tokenizer that made all of them");
  const std::string& path = pickles.begin()->second;
  notes.push_back(concat("tokens are named by ", path));
  return read_tokenizer_file(path);
}

}  // namespace dikkat
