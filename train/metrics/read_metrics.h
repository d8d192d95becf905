#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/metrics/provenance.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// Names and values of a run's settings, such as {"learning_rate", "3e-4"}.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The first line of a run's metrics. docs/METRICS.md describes all lines.
struct RunHeader {
  Provenance provenance;
  index step = 0;           ///< the step at which the file begins: 0, unless the user removed earlier lines
  index parameters = 0;     ///< number of the model's parameters
  std::string tokenizer{};  ///< kind of the tokenizer
  index vocab_size = 0, train_tokens = 0, val_tokens = 0;
  std::string corpus{};                                               ///< sha256 of the corpus
  double bytes_per_token = std::numeric_limits<double>::quiet_NaN();  ///< of the validation text; bits per byte: loss / ln 2 / this
  Settings settings{};                                                ///< settings of a run without config.toml, of a program's own loop
};

/// The metrics that a run keeps when it is resumed at a step.
struct KeptMetrics {
  std::string text;  ///< complete lines about steps up to this one
  std::optional<RunHeader> header;
  std::optional<EvaluationReport> evaluation;  ///< the evaluation at this step
  bool has_save = false;                       ///< whether a checkpoint of this step was saved
  double seconds = 0;                          ///< the time that the steps and evaluations took
  index foreign = 0;  ///< number of lines that no run has written: they are not objects with a step, and were not cut off
};

/// Reads the text of a metrics.jsonl, which may be damaged. Drops lines that are not objects with a step.
KeptMetrics keep_metrics(const std::string& text, index last_step);

/// Reads the header in the first line of RUN_DIR/metrics.jsonl; nullopt if the file cannot be read or does not begin with a header.
std::optional<RunHeader> read_run_header(const std::filesystem::path& run_directory);

/// Reads the evaluation at a step from RUN_DIR/metrics.jsonl; nullopt if there is none or the file cannot be read.
std::optional<EvaluationReport> read_evaluation(const std::filesystem::path& run_directory, index step);

/// Returns the seconds that steps and evaluations up to a step took, according to RUN_DIR/metrics.jsonl; 0 if it cannot be read.
double read_seconds(const std::filesystem::path& run_directory, index step);

/// Reads the whole file. Throws Error if it cannot be read.
std::string read_metrics_text(const std::filesystem::path& file);

}  // namespace dikkat
