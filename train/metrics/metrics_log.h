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

/// RUN_DIR/metrics.jsonl: one JSON object a line, numbers so that they read back to the same bits. Each line has the time of its writing.
class MetricsLog {
 public:
  /// Opens it for appending, after dropping a torn last line and lines about steps after `last_step`: a resumed run writes those again.
  /// If the file has lines that no run has written, a copy is kept aside. Throws Error when it cannot be read or written.
  MetricsLog(const std::filesystem::path& file, index last_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  bool has_header() const { return has_header_; }
  /// The evaluation of last_step, when it was there already.
  const std::optional<EvaluationReport>& evaluation_of_last_step() const { return evaluation_; }
  /// Whether the save of last_step is there.
  bool has_save_of_last_step() const { return has_save_; }
  /// A sentence for the user if something was wrong with the file; empty otherwise.
  const std::string& remark() const { return remark_; }

  /// Throw Error when the line cannot be written.
  void write(const StepReport& report);
  void write(const EvaluationReport& report);
  void write(const RunHeader& header);
  void write_resume(index step, const Provenance& by);
  /// Anything else that happens to a run at a step.
  using Field = std::pair<const char*, std::variant<index, std::string>>;
  using Fields = std::initializer_list<Field>;
  void write(const char* event, index step, Fields fields = {});

 private:
  void append(std::string_view line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  bool last_line_is_torn_ = false;  // the last line was cut off
  bool has_header_ = false;
  bool has_save_ = false;
  std::optional<EvaluationReport> evaluation_;
  std::string remark_;
};

}  // namespace dikkat
