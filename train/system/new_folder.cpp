#include "train/system/new_folder.h"

#include <cerrno>
#include <utility>

#include <sys/stat.h>

#include "autograd/base/error.h"
#include "train/system/folder.h"

namespace dikkat {

NewFolder::NewFolder(std::filesystem::path target) : target_(absolute_path(target)) {
  if (!target_.has_filename()) {  // the path ends with a slash
    target_ = target_.parent_path();
  }
  make_folders(target_.parent_path());
  for (int number = 1;; ++number) {
    path_ = target_.string() + (number == 1 ? ".partial" : concat(".partial-", number));
    if (::mkdir(path_.c_str(), 0777) == 0) {
      return;
    }
    require_path(errno == EEXIST ? 0 : errno, target_.string(), " cannot be created");
  }
}

NewFolder::~NewFolder() {
  if (!is_finished_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

void NewFolder::finish() {
  require_done(sync_directory(path_, nullptr), Operation::sync);
  const int error = rename_to_new(path_, target_);
  require_input(error != EEXIST, target_.string(), " exists and is not overwritten: choose a new name");
  require_done(error, Operation::rename);
  is_finished_ = true;
  require_done(sync_directory(target_.parent_path(), nullptr), Operation::sync);
}

}  // namespace dikkat
