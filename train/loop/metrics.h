#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "train/loop/reports.h"

namespace dikkat {

/// What a run that goes on after a step keeps of its metrics.
struct KeptMetrics {
  std::string text;                            ///< whole lines about steps up to it
  std::optional<EvaluationReport> evaluation;  ///< of that very step
  index foreign = 0;                           ///< lines left out that the run has not written: no objects with a step, nor torn ones
};

/// Of the contents of a metrics.jsonl, which may be damaged: lines that are no objects with a step are left out.
KeptMetrics keep_metrics(const std::string& text, index last_step);

/// RUN_DIR/metrics.jsonl: one JSON object a line, numbers so that they read back to the same bits.
class MetricsLog {
 public:
  /// Opens it for appending, after dropping what is about steps after `last_step` and a torn last line: a run that goes on writes
  /// those again. Of a file with lines that no run has written a copy is kept aside. Throws Error when it cannot be read or written.
  MetricsLog(const std::filesystem::path& file, index last_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  /// The evaluation of last_step, when it was there already.
  const std::optional<EvaluationReport>& evaluation_of_last_step() const { return evaluation_; }
  /// What a person should know of the file as it was found; empty where that is as it should be.
  const std::string& remark() const { return remark_; }

  /// Throw Error when the line cannot be written.
  void write(const StepReport& report);
  void write(const EvaluationReport& report);

 private:
  void append(std::string_view line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  bool torn_ = false;  // the last line was cut off
  std::optional<EvaluationReport> evaluation_;
  std::string remark_;
};

}  // namespace dikkat
