#include "train/cli/wanted_run.h"

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/config/parse.h"
#include "train/loop/origin.h"

namespace dikkat {

Config configuration_of(const WantedRun& run, const TrainConfig& defaults) {
  const auto written_over = [&](Config base) {
    base.train = defaults;
    Config config = run.config.empty() ? base : load_config(find_config(run.config), base);
    for (const std::string& assignment : run.set) {
      apply_override(config, assignment);
    }
    config.data.corpus = run.corpus.empty() ? config.data.corpus : run.corpus;
    config.train.init_from = run.init_from.empty() ? config.train.init_from : run.init_from;
    return config;
  };
  Config config = written_over({});
  if (config.train.init_from.empty()) {
    resolve(config);
  } else {
    const ModelSource origin = ModelSource::open(config.train.init_from);
    config = written_over(config_of_origin(origin));
    adopt_model(config, origin);
  }
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
