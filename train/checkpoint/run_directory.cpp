#include "train/checkpoint/run_directory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/lock.h"
#include "train/io/descriptor.h"

namespace dikkat {

namespace {

namespace fs = std::filesystem;

/// Temporary files of save.cpp and replace_file() begin with this. A killed writer leaves them behind.
constexpr const char* kTemporaryPrefix = ".tmp-";

/// Whether the path still refers to the file or folder of this descriptor.
bool is_at(int descriptor, const fs::path& path) {
  struct stat held {};
  struct stat there {};
  require(::fstat(descriptor, &held) == 0, path.string(), " cannot be examined: ", errno_text);
  const int error = ::stat(path.c_str(), &there) == 0 ? 0 : errno;
  require(error == 0 || error == ENOENT || error == ENOTDIR, path.string(), " cannot be examined: ", describe_errno(error));
  return error == 0 && held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/// For a message: at most three names of files that prevent a new run, then "...". Empty for an empty folder; remains of a start that
/// failed do not count.
std::string contents_of(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator file(path, error), end; !error && file != end; file.increment(error)) {
    const fs::path name = file->path().filename();
    std::error_code ignored;
    const bool is_temporary = name.string().starts_with(concat(kTemporaryPrefix, "config.toml-"));  // the first file that is written
    if (name != kLockName && !is_temporary &&
        !(name == "checkpoints" && fs::is_directory(file->path()) && fs::is_empty(file->path(), ignored))) {
      names.push_back(name.string());
    }
  }
  require_path(error.value(), path.string(), " cannot be listed");
  std::sort(names.begin(), names.end());
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) {
    list += concat(i == 0 ? "" : ", ", i < 3 ? std::string_view(names[i]) : "...");
  }
  return list;
}

void require_empty(const fs::path& path) {
  const std::string contents = contents_of(path);
  std::error_code error;
  require_input(!fs::exists(path / "config.toml", error) || !list_checkpoints(path).empty(), path.string(),
                " has a run that ended before its first checkpoint and cannot be continued: remove it, or choose another --out");
  const bool is_run = !list_checkpoints(path).empty() && fs::exists(path / "metrics.jsonl", error);  // not a model that merge or import made
  require_input(contents.empty(), path.string(), " is not empty (it has ", contents, "): choose another --out",
                is_run ? concat(", or continue its run with `dikkat resume ", path.string(), "`") : "");
}

/// Creates a folder and those above it, and removes them again in the destructor unless keep() was called.
class NewDirectories {
 public:
  NewDirectories() = default;
  NewDirectories(const NewDirectories&) = delete;
  NewDirectories& operator=(const NewDirectories&) = delete;
  ~NewDirectories() {
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
      ::rmdir(folder->c_str());  // fails if the folder is not empty any more
    }
  }
  void keep() { made_.clear(); }

  /// Keeps the folders, and syncs them so that they survive a power failure.
  void make(const fs::path& path) {
    std::vector<fs::path> missing;
    std::error_code error;
    for (fs::path folder = fs::absolute(path); !fs::exists(folder, error) && folder.has_relative_path(); folder = folder.parent_path()) {
      missing.push_back(folder);
    }
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      const int failed = ::mkdir(folder->c_str(), 0777) == 0 ? 0 : errno;
      require_path(failed == EEXIST && fs::is_directory(*folder, error) ? 0 : failed, path.string(), " cannot be created");
      if (failed == 0) {
        made_.push_back(*folder);
      }
      const int unsynced = sync_directory(folder->parent_path(), nullptr);
      // A folder without read permission cannot be opened for syncing.
      require(unsynced == 0 || unsynced == EACCES, folder->parent_path().string(), " cannot be synced: ", describe_errno(unsynced));
    }
  }

 private:
  std::vector<fs::path> made_;
};

}  // namespace

void RunDirectory::require_free(const fs::path& path) {
  std::error_code missing;
  if (!fs::exists(path, missing)) {
    return;
  }
  require_input(fs::is_directory(path, missing), path.string(), " is a file, expected a folder or a new name: choose another --out");
  if (!is_locked(path)) {  // create() says who has it
    require_empty(path);
  }
}

RunDirectory RunDirectory::create(const fs::path& path) {
  NewDirectories new_ones;
  std::error_code missing;
  if (fs::exists(path, missing)) {
    require_input(fs::is_directory(path, missing), path.string(), " is a file, expected a folder or a new name: choose another --out");
    if (!fs::exists(path / kLockName, missing)) {
      require_empty(path);  // before the lock file is created in it
    }
  } else {
    new_ones.make(path);
  }
  RunDirectory directory(path);
  require_empty(path);
  sign_lock(directory.lock_, path);  // only now: the lock file of a refused folder may belong to another process
  new_ones.make(directory.checkpoints_path());
  directory.clean_temporaries();
  require_done(sync_directory(path, nullptr), Operation::sync_directory);
  new_ones.keep();
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  require_input(is_there(path), path.string(), " does not exist, expected the directory of a run");
  std::error_code missing;
  require_input(is_there(checkpoint_directory(path)) && fs::is_directory(checkpoint_directory(path), missing), path.string(),
                " is not the directory of a run: it has no folder named checkpoints");
  RunDirectory directory(path);
  sign_lock(directory.lock_, path);
  directory.clean_temporaries();
  return directory;
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  Descriptor folder(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  require_path(folder.get() >= 0 ? 0 : errno, path_.string(), " cannot be opened");
  lock_ = take_lock(path_);
  folder_ = folder.release();
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), folder_(std::exchange(other.folder_, -1)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(folder_, other.folder_);
  std::swap(lock_, other.lock_);
  return *this;
}

RunDirectory::~RunDirectory() {
  for (const int descriptor : {lock_, folder_}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
}

std::optional<CheckpointEntry> RunDirectory::newest() const {
  const auto entries = checkpoints();
  return entries.empty() ? std::nullopt : std::optional(entries.back());
}

void RunDirectory::require_held() {
  require(is_at(folder_, path_), path_.string(),
          " is not the folder that this run has locked: that was moved, removed or replaced; nothing was written here");
  if (!is_at(lock_, path_ / kLockName)) {  // somebody has removed it
    Descriptor again(take_lock(path_));
    sign_lock(again.get(), path_);
    ::close(std::exchange(lock_, again.release()));
  }
  ::futimens(lock_, nullptr);  // so that programs that remove old files see it as new as the checkpoints
}

void RunDirectory::record_best(index step) {
  require_held();
  replace_file(checkpoints_path() / "best", checkpoint_name(step) + "\n");
}

void RunDirectory::retain(const SavedCheckpoint& saved, index keep_last, index best_step) {
  require(keep_last >= 1, "retain: keep_last is ", keep_last, ", expected 1 or more");
  require(saved.path().parent_path() == checkpoints_path(), "retain: ", saved.path().string(), " is not a checkpoint of ", path_.string());
  require_held();
  const auto entries = checkpoints();
  index kept = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->step > saved.step() || ++kept <= keep_last || entry->step == best_step) {
      continue;
    }
    std::error_code error;
    std::filesystem::remove(entry->path, error);
    require(!error, entry->path.string(), ": this old checkpoint cannot be removed: ", error.message());
  }
}

std::vector<std::filesystem::path> RunDirectory::set_aside_after(index step) {
  std::vector<std::filesystem::path> paths;
  for (const CheckpointEntry& entry : checkpoints()) {
    if (entry.step > step) {
      paths.push_back(set_aside(entry.path));
    }
  }
  return paths;
}

index RunDirectory::clean_temporaries() {
  index removed = 0;
  for (const fs::path& folder : {path_, checkpoints_path()}) {
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
      if (file->path().filename().string().starts_with(kTemporaryPrefix) && file->symlink_status().type() == fs::file_type::regular) {
        std::error_code undeletable;
        removed += fs::remove(file->path(), undeletable) ? 1 : 0;
      }
    }
    require_path(error.value(), folder.string(), " cannot be listed");
  }
  return removed;
}

}  // namespace dikkat
