#include "train/cli/save_run.h"

#include <optional>

#include <unistd.h>

#include "train/checkpoint/run_directory.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/system/file.h"
#include "train/system/new_folder.h"

namespace dikkat {

std::string save_run(const TrainedModel& model, const std::string& out, index first_new_token) {
  const std::filesystem::path path = out;
  RunDirectory::require_free(path);
  // Make the run in a hidden folder, so that a killed command leaves nothing with the run's name. A folder that is there and cannot be
  // removed, such as a mounted one, is filled in place.
  ::rmdir(path.c_str());  // removes only an empty folder
  std::optional<RunDirectory> in_place;
  std::optional<NewFolder> hidden;
  if (is_there(path)) {
    in_place = RunDirectory::create(path);
  } else {
    hidden.emplace(path);
  }
  const std::filesystem::path folder = hidden ? hidden->path() : path;
  TrainingState state;
  state.first_new_token = first_new_token;
  const SavedCheckpoint saved = save_model(checkpoint_directory(folder), *model.model, *model.tokenizer, model.config, state);
  Config config = model.config;
  resolve(config);
  replace_file(folder / "config.toml", to_recipe(config));
  if (hidden) {
    replace_file(folder / kLockName, "");  // so that a command that refuses the run need not create it
    hidden->finish();
  }
  return (checkpoint_directory(path) / saved.path().filename()).string();
}

}  // namespace dikkat
