#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "train/metrics/read_metrics.h"

namespace dikkat {

/// Writes RUN_DIR/metrics.jsonl, with one JSON object on each line. Numbers read back to the same bits. Each line has the time when it was
/// written.
class MetricsLog {
 public:
  /// Opens the file for appending. First removes an incomplete last line, and the lines about steps after `last_step`, which a resumed run
  /// writes again. Keeps a copy under another name if the file has lines that no run has written. Throws Error if it cannot be read or
  /// written.
  MetricsLog(const std::filesystem::path& file, index last_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  bool has_header() const { return has_header_; }
  /// Returns the evaluation of last_step, if the file had it.
  const std::optional<EvaluationReport>& evaluation_of_last_step() const { return evaluation_; }
  /// Returns whether the file had the save of last_step.
  bool has_save_of_last_step() const { return has_save_; }
  /// Returns a sentence for the user if something was wrong with the file; empty otherwise.
  const std::string& remark() const { return remark_; }

  /// Writes a line, as do the functions below. They throw Error if it cannot be written.
  void write(const StepReport& report);
  void write(const EvaluationReport& report);
  void write(const RunHeader& header);
  void write_resume(index step, const Provenance& by);
  /// Writes a line about any other event of a run.
  using Field = std::pair<const char*, std::variant<index, std::string>>;
  using Fields = std::initializer_list<Field>;
  void write(const char* event, index step, Fields fields = {});

 private:
  void append(std::string_view line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  bool last_line_is_torn_ = false;  // the last write failed, and may have written a part of its line
  bool has_header_ = false;
  bool has_save_ = false;
  std::optional<EvaluationReport> evaluation_;
  std::string remark_;
};

}  // namespace dikkat
