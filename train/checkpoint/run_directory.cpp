#include "train/checkpoint/run_directory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/lock.h"
#include "train/system/folder.h"
#include "train/system/temporary_file.h"

namespace dikkat {

namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.toml";
constexpr const char* kMetricsName = "metrics.jsonl";
constexpr const char* kReferenceName = "reference.json";  // log-probabilities of preferences, which come before the first checkpoint

bool is_temporary(const fs::path& path) {
  std::error_code error;
  return path.filename().string().starts_with(kTemporaryPrefix) && fs::symlink_status(path, error).type() == fs::file_type::regular;
}

/// Lists the files that prevent a new run, for a message: at most three names, then "...". Empty for an empty folder. Remains of a failed
/// start do not count: temporary files, the lock file, a folder without checkpoints. With `is_restart`, neither do its own files.
std::string names_in_the_way(const fs::path& path, bool is_restart) {
  std::vector<std::string> names;
  for (const fs::path& entry : paths_in(path)) {
    const fs::path name = entry.filename();
    const bool is_empty = name == "checkpoints" && is_folder(entry) && std::ranges::all_of(paths_in(entry), is_temporary);
    const bool is_of_start = name == kConfigName || name == kMetricsName || name == kReferenceName;
    if (name != kLockName && !is_temporary(entry) && !is_empty && !(is_restart && is_of_start)) {
      names.push_back(name.string());
    }
  }
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) {
    list += concat(i == 0 ? "" : ", ", i < 3 ? std::string_view(names[i]) : "...");
  }
  return list;
}

/// Throws InputError unless the folder is empty, or has only the remains of a start of the same run.
void require_empty(const fs::path& path, const RunDirectory::IsOwnStart& is_own_start = {}) {
  const bool has_checkpoints = !list_checkpoints(path).empty();
  const bool has_config = is_taken(path / kConfigName), has_metrics = is_taken(path / kMetricsName);
  const bool is_restart = !has_checkpoints && has_config && is_own_start && is_own_start(path);
  require_input(
      !has_config || has_checkpoints || is_restart, path.string(),
      " has a config.toml and no checkpoints, and not from a start of this run that was interrupted: remove it, or choose another "
      "--out");
  const std::string contents = names_in_the_way(path, is_restart);
  const bool is_run = has_checkpoints && has_metrics;  // not a model from merge or import
  require_input(contents.empty(), path.string(), " is not empty (it has ", contents, "): choose another --out",
                is_run ? concat(", or continue its run with `dikkat resume ", path.string(), "`") : "");
}

void require_is_folder(const fs::path& path) {
  require_input(!is_there(path) || is_folder(path), path.string(), " is a file, expected a folder or a new name: choose another --out");
}

/// Creates a folder and its parents. The destructor removes them again unless keep() was called.
class NewDirectories {
 public:
  NewDirectories() = default;
  NewDirectories(const NewDirectories&) = delete;
  NewDirectories& operator=(const NewDirectories&) = delete;
  ~NewDirectories() {
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      ::rmdir(folder->c_str());  // does nothing if the folder is no longer empty
    }
  }
  void keep() { folders_.clear(); }

  /// Creates the folders, and syncs them so that they survive a power failure. Returns false if the path already exists.
  bool make(const fs::path& path) {
    std::vector<fs::path> missing;
    std::error_code error;
    bool is_new = false;
    for (fs::path folder = absolute_path(path); !fs::exists(folder, error) && folder.has_relative_path(); folder = folder.parent_path()) {
      missing.push_back(folder);
    }
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      const int failed = ::mkdir(folder->c_str(), 0777) == 0 ? 0 : errno;
      require_path(failed == EEXIST ? 0 : failed, path.string(), " cannot be created");  // another program may have made it meanwhile
      is_new = failed == 0;
      if (is_new) {
        folders_.push_back(*folder);
      }
      const int unsynced = sync_directory(folder->parent_path(), nullptr);
      // A folder without read permission cannot be opened for syncing.
      require(unsynced == 0 || unsynced == EACCES, folder->parent_path().string(), " cannot be synced: ", describe_errno(unsynced));
    }
    return is_new;
  }

 private:
  std::vector<fs::path> folders_;
};

}  // namespace

void RunDirectory::require_free(const fs::path& path) {
  if (!is_there(path)) {
    return;
  }
  require_is_folder(path);
  if (!is_locked(path)) {  // create() reports who holds the lock
    require_empty(path);
  }
}

fs::path NewRunPath::with_number(index number) const { return number == 1 ? path : fs::path(concat(path.string(), '-', number)); }

fs::path NewRunPath::free_now() const {
  index number = 1;
  while (numbered && is_taken(with_number(number))) {
    ++number;
  }
  return with_number(number);
}

RunDirectory RunDirectory::create(const NewRunPath& wanted, Faults* faults, const IsOwnStart& is_own_start) {
  NewDirectories new_ones;
  fs::path path = wanted.path;
  bool is_new = new_ones.make(path);
  for (index number = 2; wanted.numbered && !is_new; ++number) {  // making the folder decides who has the name
    path = wanted.with_number(number);
    is_new = new_ones.make(path);
  }
  if (!is_new) {
    require_is_folder(path);
    if (!is_taken(path / kLockName)) {
      require_empty(path, is_own_start);  // before the lock file is created in it
    }
  }
  RunDirectory directory(path, faults);
  require_empty(path, is_own_start);
  directory.lock_.sign();  // not before require_empty(): the lock file of a refused folder may belong to another process
  for (const char* const name : {kMetricsName, kReferenceName}) {
    remove_tree(path / name);  // an earlier start left it; the new one writes the same config.toml
  }
  new_ones.make(directory.checkpoints_path());
  directory.clean_temporaries();
  require_done(sync_directory(path, faults), Operation::sync_directory);
  new_ones.keep();
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path, Faults* faults) {
  require_input(is_there(path), path.string(), " does not exist, expected a run directory");
  require_input(is_there(checkpoint_directory(path)) && is_folder(checkpoint_directory(path)), path.string(),
                " is not a run directory: it has no folder named checkpoints");
  RunDirectory directory(path, faults);
  directory.lock_.sign();
  directory.clean_temporaries();
  return directory;
}

std::optional<CheckpointEntry> RunDirectory::newest() const {
  const auto entries = checkpoints();
  return entries.empty() ? std::nullopt : std::optional(entries.back());
}

void RunDirectory::remove() && {
  require_held();
  const fs::path whole = absolute_path(path_ / "").parent_path();
  Provisional hidden;
  create_temporary_folder(whole.parent_path(), whole.filename().string(), hidden);
  const fs::path inside = hidden.path() / whole.filename();
  remove_tree(rename_file(whole, inside, nullptr) == 0 ? inside : path_);  // a mounted folder cannot be renamed
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
    removed += remove_temporaries(folder);
  }
  return removed;
}

}  // namespace dikkat
