#include "train/cli/wanted_run.h"

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/config/parse.h"

namespace dikkat {

Config configuration_of(const std::string& file, const std::vector<std::string>& set, const std::vector<std::string>& corpus) {
  Config config = file.empty() ? Config{} : load_config(find_config(file));
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

std::filesystem::path find_config(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::exists(name, none) || fs::path(name).has_parent_path()) {
    return name;
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", none).parent_path();
  const fs::path file = fs::path(name).extension() == ".toml" ? name : name + ".toml";
  for (const char* folder : {"../share/dikkat/configs", "../../configs"}) {  // installed; in a build folder of the repository
    if (fs::path found = (program / folder / file).lexically_normal(); fs::is_regular_file(found, none)) {
      return found;
    }
  }
  return name;
}

std::filesystem::path free_run_directory(const std::filesystem::path& config) {
  const std::filesystem::path base = std::filesystem::path("runs") / (config.empty() ? "default" : config.stem());
  std::filesystem::path path = base;
  for (index number = 2; std::filesystem::exists(path); ++number) {
    path = concat(base.string(), '-', number);
  }
  return path;
}

}  // namespace dikkat
