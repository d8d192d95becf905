#include "train/cli/save_run.h"

#include "train/checkpoint/run_directory.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/system/file.h"

namespace dikkat {

std::string save_run(const TrainedModel& model, const std::string& out) {
  RunDirectory directory = RunDirectory::create(out);
  const SavedCheckpoint saved = save_model(directory.checkpoints_path(), *model.model, *model.tokenizer, model.config);
  Config config = model.config;
  resolve(config);
  replace_file(directory.path() / "config.toml", to_recipe(config));
  return saved.path().string();
}

}  // namespace dikkat
