#include "train/run/absolute_paths.h"

#include <algorithm>
#include <filesystem>

#include "train/config/resolve.h"
#include "train/data/corpus/corpus_files.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

/// Returns the absolute path. With `is_pattern`, * ? and [ match file names, unless a file has exactly this name. Then these characters
/// are escaped in the current folder's name.
std::string absolute(const std::string& path, bool is_pattern) {
  namespace fs = std::filesystem;
  if (fs::path(path).is_absolute()) {
    return path;
  }
  std::string folder = absolute_path(".").parent_path().string();
  if (std::error_code missing; is_pattern && path.find_first_of("*?[") != std::string::npos && !fs::exists(path, missing)) {
    for (std::size_t at = 0; (at = folder.find_first_of("*?[\\", at)) != std::string::npos; at += 2) {
      folder.insert(at, 1, '\\');
    }
  }
  const fs::path whole = fs::path(folder) / path;
  const bool goes_up =
      std::find(whole.begin(), whole.end(), "..") != whole.end();  // ".." after a link does not lead to the folder above the link
  return goes_up ? whole.string() : whole.lexically_normal().string();
}

}  // namespace

void make_absolute(Config& config) {
  for (std::vector<std::string>* texts : config.data.all_paths()) {
    for (std::string& path : *texts) {
      if (!path.empty() && path != kStandardInput) {
        path = absolute(path, true);
      }
    }
  }
  for (std::string* path : {&config.tokenizer.path, &config.data.cache, &config.train.init_from, &config.distill.file}) {
    if (!path->empty() && *path != "auto" && *path != "off") {
      *path = absolute(*path, false);
    }
  }
  validate(config);
}

}  // namespace dikkat
