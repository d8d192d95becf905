#include "train/metrics/read_metrics.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "autograd/base/error.h"
#include "train/metrics/line_fields.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {

using namespace metrics_line;  // NOLINT(google-build-using-namespace): for the functions that read fields

KeptMetrics keep_metrics(const std::string& text, index last_step) {
  KeptMetrics kept;
  // Samples are written before the line of their evaluation. If that line is missing, the evaluation was interrupted: the samples are
  // dropped too, and the resumed run repeats all of it.
  std::vector<std::pair<std::size_t, std::size_t>> of_last_evaluation;  // where its lines begin in kept.text, and their lengths
  std::size_t end = 0;
  for (std::size_t begin = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    // Decide whether to keep the line.
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const Json object = try_json(line).value_or(Json::value_t::discarded);
    const std::optional<index> step = step_of(object);
    const bool torn = object.is_discarded() && (line.starts_with(kStart) || kStart.starts_with(line));
    if (!step && !torn) {
      ++kept.foreign;
    }
    if (!step || *step > last_step) {
      continue;
    }
    if (*step == last_step && (is_event(object, "sample") || is_event(object, "eval"))) {
      of_last_evaluation.emplace_back(kept.text.size(), line.size() + 1);
    }
    kept.has_save = kept.has_save || (*step == last_step && is_event(object, "save"));
    // Keep it, and read the values that the run needs.
    append_to(kept.text, line);
    kept.text += '\n';
    if (is_event(object, "header") && !kept.header) {
      kept.header = header_in(object, *step);
    }
    if (*step == last_step && is_event(object, "eval") && !std::isnan(number_in(object, "val_loss"))) {
      kept.evaluation = evaluation_in(object, last_step);
    }
    if (const double ms = number_in(object, "ms"); ms > 0) {
      kept.seconds += ms / 1e3;
    }
  }
  for (auto at = of_last_evaluation.rbegin(); !kept.evaluation && at != of_last_evaluation.rend(); ++at) {
    kept.text.erase(at->first, at->second);
  }
  return kept;
}

std::string read_metrics_text(const std::filesystem::path& path) {
  try {
    const File file = File::open_regular(path);
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    require_done(file.read(0, std::as_writable_bytes(std::span(text))), Operation::read);
    return text;
  } catch (const Error& error) {
    fail(path.string(), ' ', error.what(), "; repair it, or move it away to continue without the metrics of the steps so far");
  }
}

std::optional<RunHeader> read_run_header(const std::filesystem::path& run_directory) {
  constexpr index kMost = index{1} << 22;  // the longest line, in bytes
  try {
    const File file = File::open_regular(run_directory / "metrics.jsonl");
    std::string text(static_cast<std::size_t>(std::min<index>(file.size(), kMost)), '\0');
    require_done(file.read(0, std::as_writable_bytes(std::span(text))), Operation::read);
    return keep_metrics(text.substr(0, text.find('\n') + 1), std::numeric_limits<index>::max()).header;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<EvaluationReport> read_evaluation(const std::filesystem::path& run_directory, index step) {
  try {
    return keep_metrics(read_metrics_text(run_directory / "metrics.jsonl"), step).evaluation;
  } catch (const Error&) {
    return std::nullopt;
  }
}

double read_seconds(const std::filesystem::path& run_directory, index step) {
  try {
    return keep_metrics(read_metrics_text(run_directory / "metrics.jsonl"), step).seconds;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace dikkat
