#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/metrics/read_metrics.h"

namespace dikkat {

/// The events that metrics.jsonl records about a run, in the order in which they were written.
struct RunHistory {
  struct Step {
    StepReport report;
    double time = 0;  ///< when it was done, in seconds since 1970
  };
  struct Evaluation {
    EvaluationReport report;
    double time = 0;
  };
  struct Save {
    index step = 0;
    double time = 0;
    std::string file{};  ///< the file's name in checkpoints/
    index bytes = 0;
  };
  /// The model's continuation of a prompt of train.sample_prompts.
  struct Sample {
    index step = 0;
    std::string prompt{}, text{};
  };
  /// One of the other events: resume, change, stop or finish.
  struct Event {
    std::string kind;
    index step = 0;
    double time = 0;
    std::string reason{};                  ///< reason of a stop: "SIGINT"
    std::string key{}, before{}, after{};  ///< a changed key of the configuration, and its values as TOML
    Provenance provenance{};               ///< the program and machine of a resume
  };

  std::optional<RunHeader> header;
  std::vector<Step> steps;
  std::vector<Evaluation> evaluations;
  std::vector<Save> saves;
  std::vector<Sample> samples;
  std::vector<Event> events;

  /// Returns the last step that any line is about.
  index last_step() const;
  /// Returns the best evaluation (is_better()); null if there is none.
  const Evaluation* best() const;
  bool finished() const;  ///< whether the last event is the end of the run
};

/// Returns whether a program's own training loop wrote the metrics (train/library/run_folder.h). Such a run has no tokenizer and no
/// config.toml.
inline bool is_of_own_loop(const RunHistory& history) { return history.header && history.header->tokenizer.empty(); }

/// Follows RUN_DIR/metrics.jsonl while it grows. An incomplete line waits for the next update(). If the file was replaced or cut by a
/// resume, it is read again from the start.
class HistoryReader {
 public:
  explicit HistoryReader(const std::filesystem::path& run_directory);

  /// Reads the new lines, and returns whether there were any. A file that is missing or cannot be read has none.
  bool update();
  const RunHistory& history() const { return history_; }

 private:
  void add(std::string_view line);

  std::filesystem::path file_;
  RunHistory history_;
  std::uintmax_t bytes_read_ = 0;  // bytes
  std::uint64_t identity_ = 0;     // the file's inode
  std::string partial_line_;       // the beginning of a line
};

/// Reads all of RUN_DIR/metrics.jsonl. Throws InputError if there is no such file (a model from merge or import has none), or if no line is
/// about a step.
RunHistory read_history(const std::filesystem::path& run_directory);

}  // namespace dikkat
