#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint/lock.h"
#include "train/config/config.h"
#include "train/sweep/sweep.h"

namespace dikkat {

/// One point of a sweep's grid.
struct Combination {
  std::string name;    // also a file name; may be empty for a single combination
  Config config;       // resolved, with absolute paths
  double seconds = 0;  // seconds of a whole run, by a trial; 0: unknown
};

/// The contents of a sweep.
struct SweepDescription {
  std::vector<Combination> combinations;
  std::vector<index> seeds;  // the first is train.seed of the configurations, unless the user set seeds
  index eta = 3;             // 0: no halving

  SweepPlan plan() const;
  /// Returns "optim.learning_rate=0.002,seed=1": the combination, and the seed if there are several.
  std::string run_name(index combination, index seed) const;
};

/// Returns a sentence about the differences between `found` and `wanted`; empty if they are equal. The seconds of trials do not count.
std::string difference_between(const SweepDescription& found, const SweepDescription& wanted);

/// The folder of a sweep, for its only writer:
///   sweep.json     the description
///   results.jsonl  one line for each leg that has ended
///   best.toml      the configuration of the best combination
///   NAME/          the run directory of each run
class SweepDirectory {
 public:
  static bool is_one(const std::filesystem::path& path);
  /// Throws InputError unless the folder is empty or does not exist.
  static void require_usable(const std::filesystem::path& path);
  /// Creates a sweep in an empty or new folder. Throws InputError if the folder cannot be used, and then changes nothing in it.
  static SweepDirectory create(const std::filesystem::path& path, SweepDescription description);
  /// Opens a sweep. Throws InputError if the folder is not that of a sweep, or its files are damaged.
  static SweepDirectory open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const SweepDescription& description() const { return description_; }
  /// Returns the results in results.jsonl when the folder was opened.
  const std::vector<LegResult>& results() const { return results_; }
  std::filesystem::path run_path(const Leg& leg) const { return path_ / description_.run_name(leg.combination, leg.seed); }

  /// Adds a line to results.jsonl.
  void record(const LegResult& result);
  /// Writes best.toml and returns its path.
  std::filesystem::path write_best(index combination) const;

 private:
  explicit SweepDirectory(std::filesystem::path path) : path_(std::move(path)), lock_(FolderLock::take(path_)) {}
  void read_description();
  void read_results();

  std::filesystem::path path_;
  FolderLock lock_;
  SweepDescription description_;
  std::vector<LegResult> results_;
  std::string lines_;  // the contents of results.jsonl
};

}  // namespace dikkat
