#include "train/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "autograd/base/error.h"
#include "train/system/folder.h"

namespace dikkat {

namespace {

namespace fs = std::filesystem;

/// Returns the step in a checkpoint's name (checkpoint_name()); -1 for any other name.
index step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  index step = -1;
  if (name.starts_with(kPrefix)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  }
  return step >= 0 && checkpoint_name(step) == name ? step : -1;
}

constexpr const char* kNotSkipped =
    "; this may be temporary, so no older checkpoint was used: try again when it can be read, or move this file away";

/// Opens a checkpoint. Also throws InputError if the step in the file differs from that in its name: a continued run would later find its
/// own file names taken.
CheckpointFile open_entry(const CheckpointEntry& entry) {
  CheckpointFile file = CheckpointFile::open(entry.path);
  require_input(file.state().step == entry.step, entry.path.string(), " holds step ", file.state().step,
                ", expected the step in its name: rename it to ", checkpoint_name(file.state().step), ", or move it away");
  return file;
}

/// The result of opening a checkpoint.
struct OpenAttempt {
  enum class Result : std::uint8_t {
    good,
    damaged,  ///< its contents are not those of a checkpoint of this step; trying again does not help
    unknown,  ///< it could not be read, so its contents are unknown: it may be another user's, or on a disk that is not mounted
  };
  Result result = Result::good;
  std::optional<CheckpointFile> file{};
  std::string reason{};
  bool is_input = false;  ///< whether the user can correct it
};

/// Opens a checkpoint, or returns why that failed. Only this function decides between damaged and unknown: no errno means damaged.
OpenAttempt try_to_open(const CheckpointEntry& entry) {
  try {
    return {.file = open_entry(entry)};
  } catch (const PathError& error) {
    return {.result = OpenAttempt::Result::unknown, .reason = error.what(), .is_input = true};
  } catch (const InputError& error) {
    return {.result = OpenAttempt::Result::damaged, .reason = error.what(), .is_input = true};
  } catch (const Error& error) {
    return {.result = OpenAttempt::Result::unknown, .reason = error.what()};
  }
}

[[noreturn]] void refuse_unknown(const OpenAttempt& attempt) {
  const std::string text = attempt.reason + kNotSkipped;
  attempt.is_input ? fail_input(text) : fail(text);
}

/// Lists the names of the intact checkpoints, newest first, for a message.
std::string names_of_intact(const std::vector<CheckpointEntry>& checkpoints) {
  std::string names;
  for (auto entry = checkpoints.rbegin(); entry != checkpoints.rend(); ++entry) {
    if (try_to_open(*entry).result == OpenAttempt::Result::good) {
      append_to(names, concat(names.empty() ? "" : ", ", entry->path.filename().string()));
    }
  }
  return names;
}

/// Throws InputError because the last of `checkpoints` is damaged, for the given reason. `checkpoints` is sorted by step and not empty.
[[noreturn]] void refuse_damaged(const fs::path& run_directory, const std::vector<CheckpointEntry>& checkpoints,
                                 const std::string& reason) {
  const std::string names = names_of_intact(checkpoints);
  if (names.empty()) {
    fail_input(reason, ". It is the newest checkpoint of ", run_directory.string(), ", which has no other intact checkpoint");
  }
  fail_input(reason, ". It is the newest checkpoint of ", run_directory.string(), "; these older ones are intact: ", names,
             ". Give one of these paths to eval, sample or inspect; resume --latest-good continues from the newest of them");
}

}  // namespace

std::string checkpoint_name(index step) {
  constexpr std::size_t kDigits = 9;  // more for steps that need more
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
  require_input(is_file(pointer), pointer.string(), " is not a regular file");
  const std::string name = read_bytes(pointer, 64);
  const index step = name.ends_with('\n') ? step_of(name.substr(0, name.size() - 1)) : -1;
  require_input(step >= 0, pointer.string(), " does not name a checkpoint, expected one line such as ", checkpoint_name(700));
  CheckpointEntry entry{step, directory / checkpoint_name(step)};
  require_input(is_there(entry.path), pointer.string(), " names ", entry.path.filename().string(), ", which does not exist");
  return entry;
}

CheckpointFile open_checkpoint(const fs::path& run_directory_or_file, CheckpointChoice choice, std::vector<std::string>* damaged) {
  // Open a file, or find the checkpoints of a run.
  if (!is_folder(run_directory_or_file)) {
    return CheckpointFile::open(run_directory_or_file);
  }
  const std::vector<CheckpointEntry> checkpoints = list_checkpoints(run_directory_or_file);
  require_input(
      !checkpoints.empty(), run_directory_or_file.string(),
      is_there(run_directory_or_file / "metrics.jsonl")
          ? " has no checkpoint yet: its run was killed before the first save; remove it and train again"
          : " has no checkpoint, expected a run directory, which has checkpoints/step-NNNNNNNNN.h5 (`dikkat runs` lists those in runs/)");
  // Open the best one, if that is the choice and there is one.
  if (choice == CheckpointChoice::best) {
    const auto best = best_checkpoint(run_directory_or_file);
    require_input(best.has_value(), run_directory_or_file.string(),
                  " has no best checkpoint: there was no evaluation yet, or its file checkpoints/best was removed");
    return open_entry(*best);
  }
  if (choice == CheckpointChoice::best_or_newest) {
    try {
      if (const auto best = best_checkpoint(run_directory_or_file)) {
        return open_entry(*best);
      }
    } catch (const InputError& error) {
      const std::string names = names_of_intact(checkpoints);
      const bool newest_is_intact = names.starts_with(checkpoints.back().path.filename().string());
      fail_input(error.what(), ". It has the run's lowest validation loss, so it is the default; ",
                 newest_is_intact ? concat("--newest uses the newest, of step ", checkpoints.back().step, "; ") : "",
                 names.empty() ? "no other checkpoint is intact" : concat("these are intact, and can be given by their path: ", names));
    }
  }
  // Open the newest; after a damaged one, try the one before, if the choice allows it.
  std::string reason;  // why the newest cannot be opened
  for (auto entry = checkpoints.rbegin(); entry != checkpoints.rend(); ++entry) {
    OpenAttempt attempt = try_to_open(*entry);
    if (attempt.result == OpenAttempt::Result::good) {
      return std::move(*attempt.file);
    }
    if (attempt.result == OpenAttempt::Result::unknown) {
      refuse_unknown(attempt);
    }
    reason = reason.empty() ? attempt.reason : reason;
    if (choice != CheckpointChoice::latest_good) {
      break;
    }
    if (damaged != nullptr) {
      damaged->push_back(attempt.reason);
    }
  }
  refuse_damaged(run_directory_or_file, checkpoints, reason);
}

}  // namespace dikkat
