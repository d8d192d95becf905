#include "train/cli/wanted_run.h"

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/config/parse.h"

namespace dikkat {

Config configuration_of(const std::string& file, const std::vector<std::string>& set, const std::vector<std::string>& corpus) {
  Config config = load_config(file);
  for (const std::string& assignment : set) {
    apply_override(config, assignment);
  }
  if (!corpus.empty()) {
    config.data.corpus = corpus;
  }
  resolve(config);
  validate(config);
  return config;
}

std::filesystem::path free_run_directory(const std::filesystem::path& config) {
  const std::filesystem::path base = std::filesystem::path("runs") / config.stem();
  std::filesystem::path path = base;
  for (index number = 2; std::filesystem::exists(path); ++number) {
    path = concat(base.string(), '-', number);
  }
  return path;
}

}  // namespace dikkat
