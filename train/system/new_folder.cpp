#include "train/system/new_folder.h"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/folder.h"

namespace dikkat {

NewFolder::NewFolder(std::filesystem::path target) : target_(absolute_path(target)) {
  if (!target_.has_filename()) {  // the path ends with a slash
    target_ = target_.parent_path();
  }
  const std::filesystem::path parent = target_.parent_path();
  make_folders(parent);
  require_path(::access(parent.c_str(), W_OK) == 0 ? 0 : errno, target_.string(), " cannot be created");
  const std::string stem = target_.filename().string();
  create_temporary_folder(parent, stem, hidden_);
  remove_leftovers(parent, stem, path());
}

void NewFolder::finish() {
  require_done(sync_directory(path(), nullptr), Operation::sync);
  int error = rename_to_new(path(), target_);
  if (error == EEXIST && ::rmdir(target_.c_str()) == 0) {  // removes only an empty folder
    error = rename_to_new(path(), target_);
  }
  require_input(error != EEXIST, target_.string(), " exists and is not overwritten: choose a new name");
  require_done(error, Operation::rename);
  hidden_.keep();
  require_done(sync_directory(target_.parent_path(), nullptr), Operation::sync);
}

}  // namespace dikkat
