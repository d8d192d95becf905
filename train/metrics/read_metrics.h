#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "train/metrics/provenance.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// The first line of a run's metrics. docs/METRICS.md describes all lines.
struct RunHeader {
  Provenance provenance;
  index step = 0;           ///< where the file begins: 0, unless the user removed what came before
  index parameters = 0;     ///< of the model
  std::string tokenizer{};  ///< its kind
  index vocab_size = 0, train_tokens = 0, val_tokens = 0;
  std::string corpus{};                                               ///< sha256 of the corpus
  double bytes_per_token = std::numeric_limits<double>::quiet_NaN();  ///< of the validation text: bits per byte are loss / ln 2 / this
};

/// What a run that is resumed at a step keeps of its metrics.
struct KeptMetrics {
  std::string text;  ///< whole lines about steps up to it
  std::optional<RunHeader> header;
  std::optional<EvaluationReport> evaluation;  ///< of that very step
  bool has_save = false;                       ///< of that very step
  double seconds = 0;                          ///< of the steps and evaluations
  index foreign = 0;  ///< other lines, which no run has written: they are no objects with a step, and were not cut off
};

/// `text` is a metrics.jsonl, which may be damaged: lines that are no objects with a step are dropped.
KeptMetrics keep_metrics(const std::string& text, index last_step);

/// The first line of RUN_DIR/metrics.jsonl. None if there is no such file, or it cannot be read or begins otherwise.
std::optional<RunHeader> read_run_header(const std::filesystem::path& run_directory);

/// The evaluation of RUN_DIR/metrics.jsonl at a step. None if there is no such line, or the file cannot be read.
std::optional<EvaluationReport> read_evaluation(const std::filesystem::path& run_directory, index step);

/// The seconds that steps and evaluations up to a step took, by RUN_DIR/metrics.jsonl; 0 if it cannot be read.
double read_seconds(const std::filesystem::path& run_directory, index step);

/// The whole file. Throws Error if it cannot be read.
std::string read_metrics_text(const std::filesystem::path& file);

}  // namespace dikkat
