#include "train/cli/save_run.h"

#include "train/checkpoint/run_directory.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/system/file.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

/// Writes the run into a folder that is new or empty. Returns the name of the checkpoint within it.
std::filesystem::path write_run(const TrainedModel& model, const std::filesystem::path& folder) {
  RunDirectory directory = RunDirectory::create(folder);
  Config config = model.config;
  resolve(config);
  const SavedCheckpoint saved = save_model(directory.checkpoints_path(), *model.model, *model.tokenizer, model.config);
  replace_file(directory.path() / "config.toml", to_recipe(config));
  return saved.path().lexically_relative(folder);
}

}  // namespace

std::string save_run(const TrainedModel& model, const std::string& out) {
  const std::filesystem::path path = out;
  if (is_there(path)) {  // an empty folder, perhaps one that cannot be replaced
    return (path / write_run(model, path)).string();
  }
  NewFolder folder(path);
  const std::filesystem::path checkpoint = write_run(model, folder.path());
  folder.finish();
  return (path / checkpoint).string();
}

}  // namespace dikkat
