#include "train/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {

namespace {

namespace fs = std::filesystem;

/// The reverse of checkpoint_name(); -1 for any other name.
index step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  index step = -1;
  if (name.starts_with(kPrefix)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  }
  return step >= 0 && checkpoint_name(step) == name ? step : -1;
}

constexpr const char* kNotSkipped = "; this may be temporary, so no older checkpoint was used: try again, or move this file away";

/// Opens a checkpoint. Also throws InputError if the file has another step than its name says: a run that continued from it would later
/// find its own file names taken.
CheckpointFile open_entry(const CheckpointEntry& entry) {
  CheckpointFile file = CheckpointFile::open(entry.path);
  require_input(file.state().step == entry.step, entry.path.string(), " holds step ", file.state().step,
                ", expected the step in its name: rename it to ", checkpoint_name(file.state().step), ", or move it away");
  return file;
}

bool is_good(const CheckpointEntry& entry) {
  try {
    open_entry(entry);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The names of those that are intact, the newest first.
std::string intact(const std::vector<CheckpointEntry>& checkpoints) {
  std::string whole;
  for (auto entry = checkpoints.rbegin(); entry != checkpoints.rend(); ++entry) {
    if (is_good(*entry)) {
      append_to(whole, concat(whole.empty() ? "" : ", ", entry->path.filename().string()));
    }
  }
  return whole;
}

/// Throws InputError: the last of `checkpoints` is damaged for the given reason. `checkpoints` is sorted by step and not empty.
[[noreturn]] void refuse_damaged(const fs::path& run_directory, const std::vector<CheckpointEntry>& checkpoints, const char* reason) {
  const std::string whole = intact(checkpoints);
  if (whole.empty()) {
    fail_input(reason, ". It is the newest checkpoint of ", run_directory.string(), ", which has no other one that is intact");
  }
  fail_input(reason, ". It is the newest checkpoint of ", run_directory.string(), "; these older ones are intact: ", whole,
             ". eval, sample and inspect take one of them by its path; resume --latest-good uses the newest of them");
}

}  // namespace

std::string checkpoint_name(index step) {
  constexpr std::size_t kDigits = 9;  // at least
  const std::string digits = concat(step);
  return concat("step-", std::string(kDigits - std::min(kDigits, digits.size()), '0'), digits, ".h5");
}

fs::path checkpoint_directory(const fs::path& run_directory) { return run_directory / "checkpoints"; }

std::vector<CheckpointEntry> list_checkpoints(const fs::path& run_directory) {
  std::vector<CheckpointEntry> entries;
  const fs::path directory = checkpoint_directory(run_directory);
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    if (const index step = step_of(file->path().filename().string()); step >= 0) {
      entries.push_back({step, file->path()});
    }
  }
  require_path(error == std::errc::no_such_file_or_directory ? 0 : error.value(), directory.string(), " cannot be listed");
  std::sort(entries.begin(), entries.end(), [](const CheckpointEntry& a, const CheckpointEntry& b) { return a.step < b.step; });
  return entries;
}

std::optional<CheckpointEntry> best_checkpoint(const fs::path& run_directory) {
  const fs::path directory = checkpoint_directory(run_directory);
  const fs::path pointer = directory / "best";
  if (!is_there(pointer)) {
    return std::nullopt;
  }
  require_input(fs::is_regular_file(pointer), pointer.string(), " is not a regular file");
  const std::string name = read_bytes(pointer, 64);
  const index step = name.ends_with('\n') ? step_of(name.substr(0, name.size() - 1)) : -1;
  require_input(step >= 0, pointer.string(), " does not name a checkpoint, expected one line such as ", checkpoint_name(700));
  CheckpointEntry entry{step, directory / checkpoint_name(step)};
  require_input(is_there(entry.path), pointer.string(), " names ", entry.path.filename().string(), ", which does not exist");
  return entry;
}

CheckpointFile open_checkpoint(const fs::path& run_directory_or_file, Pick pick, std::vector<std::string>* damaged) {
  std::error_code missing;
  if (!fs::is_directory(run_directory_or_file, missing)) {
    return CheckpointFile::open(run_directory_or_file);
  }
  const std::vector<CheckpointEntry> checkpoints = list_checkpoints(run_directory_or_file);
  require_input(!checkpoints.empty(), run_directory_or_file.string(),
                is_there(run_directory_or_file / "metrics.jsonl")
                    ? " has no checkpoint yet: its run was killed before the first save; remove it and train again"
                    : " has no checkpoint, expected a run directory, which has checkpoints/step-NNNNNNNNN.h5 (`dikkat runs` lists those in runs/)");
  if (pick == Pick::best) {
    const auto best = best_checkpoint(run_directory_or_file);
    require_input(best.has_value(), run_directory_or_file.string(),
                  " has no best checkpoint: there was no evaluation yet, or its file checkpoints/best was removed");
    return open_entry(*best);
  }
  if (pick == Pick::best_or_newest) {
    try {
      if (const auto best = best_checkpoint(run_directory_or_file)) {
        return open_entry(*best);
      }
    } catch (const InputError& error) {
      const std::string whole = intact(checkpoints);
      const bool newest_is_intact = whole.starts_with(checkpoints.back().path.filename().string());
      fail_input(error.what(), ". It has the run's lowest validation loss, so it is used by default; ",
                 newest_is_intact ? concat("--newest takes the newest, of step ", checkpoints.back().step, "; ") : "",
                 whole.empty() ? "no other checkpoint is intact" : concat("these are intact, and may be named by their path: ", whole));
    }
  }
  if (pick == Pick::latest_good) {
    for (auto entry = checkpoints.rbegin(); entry != checkpoints.rend(); ++entry) {
      // A file that cannot be opened is not known to be damaged: it may belong to another user, or be on a disk that is not mounted.
      require(::access(entry->path.c_str(), R_OK) == 0, entry->path.string(), " cannot be read: ", errno_text, kNotSkipped);
      try {
        return open_entry(*entry);
      } catch (const InputError& error) {
        if (damaged != nullptr) {
          damaged->emplace_back(error.what());
        }
      } catch (const Error& error) {
        fail(error.what(), kNotSkipped);
      }
    }
  }
  try {
    return open_entry(checkpoints.back());
  } catch (const InputError& error) {
    refuse_damaged(run_directory_or_file, checkpoints, error.what());
  }
}

}  // namespace dikkat
