#include "train/metrics/metrics_log.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/metrics/label_table.h"
#include "train/metrics/line_fields.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;

constexpr index kFormat = 1;  // new events and keys need no new format, because readers ignore those that they do not know

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file, index last_step) : file_(file) {
  bool has_any = false;
  if (is_there(file)) {
    const std::string text = read_metrics_text(file);
    KeptMetrics kept = keep_metrics(text, last_step);
    evaluation_ = kept.evaluation;
    has_save_ = kept.has_save;
    has_header_ = kept.header.has_value();
    has_any = !kept.text.empty();
    if (kept.foreign > 0) {
      const std::filesystem::path aside = name_aside(file);
      replace_file(aside, text);
      remark_ =
          concat(file.string(), " has lines that this run did not write (", kept.foreign, "); a copy of it is ", aside.filename().string());
    }
    if (kept.text != text) {
      replace_file(file, kept.text);
    }
  }
  if (last_step > 0 && !has_any && remark_.empty()) {
    remark_ = concat(file.string(), " lacks the ", last_step, " steps before this one: it starts again");
  }
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  require(descriptor_ >= 0, file.string(), ": cannot be opened for writing: ", errno_text);
  struct stat status{};
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    fail(file.string(), ": cannot be written: ", error != 0 ? describe_errno(error) : "it is not a regular file");
  }
}

MetricsLog::~MetricsLog() { ::close(descriptor_); }

namespace {

nlohmann::ordered_json as_json(const LossFingerprint& scored) {
  return {{"targets", scored.targets}, {"contexts", scored.contexts}, {"text", scored.text}};
}

/// Converts the losses to [{"name": "stories", "loss": 1.2, "standard_error": 0.01, "epochs": 0.5}, ...]. NaN becomes null, as in other
/// fields.
nlohmann::ordered_json losses_as_json(const std::vector<NamedLoss>& losses) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto number = [](double value) { return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(); };
  for (const NamedLoss& one : losses) {
    list.push_back({{"name", one.name}, {"loss", number(one.loss)}, {"standard_error", number(one.standard_error)}});
    if (one.is_source()) {
      list.back()["epochs"] = number(one.epochs);
    }
    if (one.scored.is_known()) {
      list.back()["scored"] = as_json(one.scored);
    }
  }
  return list;
}

/// A line of JSON, built in place, because training writes one at every step without allocating memory.
class Line {
 public:
  explicit Line(const char* event) { fmt::format_to(std::back_inserter(text_), "{}\"{}\"", metrics_line::kStart, event); }
  void add(const char* name, index value) { fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, value); }
  /// Adds the shortest digits that read back to the same bits. NaN and infinity become null, because JSON does not have them.
  void add(const char* name, double value) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, value);
    } else {
      fmt::format_to(std::back_inserter(text_), ",\"{}\":null", name);
    }
  }
  /// Adds any JSON value. Bytes that are not UTF-8 are replaced.
  template <class AnyJson>
    requires requires(const AnyJson& json) { json.dump(); }
  void add(const char* name, const AnyJson& value) {
    fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, json_text(value));
  }
  void add(const char* name, const std::string& value) { add(name, Json(value)); }
  void add(const Metrics& metrics) {
    for (const Metric& metric : metrics) {
      add(metric.name.c_str(), metric.value);
    }
  }
  void add(const Provenance& by) {
    add("date", by.date);
    add("version", by.version);
    add("commit", by.commit);
    add("command", Json(by.command));
    add("host", by.host);
    add("processor", by.processor);
    add("threads", index{by.threads});
  }
  /// Ends the line with the time, in seconds since 1970-01-01 00:00 UTC.
  std::string_view finish() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    fmt::format_to(std::back_inserter(text_), ",\"time\":{:.3f}}}\n", std::chrono::duration<double>(now).count());
    return {text_.data(), text_.size()};
  }

 private:
  fmt::memory_buffer text_;
};

}  // namespace

void MetricsLog::append(std::string_view line) {
  if (std::exchange(last_line_is_torn_, false)) {
    append("\n");
  }
  constexpr int kMaxInterruptions = 1000;  // consecutive ones, so that endless signals cause an error and not a hang
  int interruptions = 0;
  while (!line.empty()) {
    const ssize_t count = ::write(descriptor_, line.data(), line.size());
    if (count < 0 && errno == EINTR && ++interruptions < kMaxInterruptions) {
      continue;
    }
    last_line_is_torn_ = count <= 0;
    require(count > 0, file_.string(), ": cannot be written: ", errno_text);
    line.remove_prefix(static_cast<std::size_t>(count));
  }
}

void MetricsLog::write(const StepReport& r) {
  Line line("step");
  line.add("step", r.step);
  line.add("loss", r.loss);
  line.add("grad_norm", r.gradient_norm);
  line.add("learning_rate", r.learning_rate);
  if (r.skipped) {
    line.add("skipped", index{1});
  }
  line.add("tokens", r.tokens);
  line.add(r.metrics);
  line.add("ms", r.seconds * 1e3);
  line.add("optimizer_ms", r.optimizer_seconds * 1e3);
  if (r.exchange_seconds > 0) {
    line.add("exchange_ms", r.exchange_seconds * 1e3);
    line.add("exchange_wait_ms", r.waited_seconds * 1e3);
  }
  line.add("tokens_per_s", r.tokens_per_second());
  line.add("mfu", r.mfu);
  append(line.finish());
}

void MetricsLog::write(const EvaluationReport& r) {
  Line line("eval");
  line.add("step", r.step);
  line.add("train_loss", r.train_loss);
  line.add("val_loss", r.val_loss);
  line.add("val_standard_error", r.val_standard_error);
  if (!std::isnan(r.end_probability)) {
    line.add("end_probability", r.end_probability);
  }
  line.add(r.metrics);
  if (!r.table.empty()) {
    line.add("table", to_json(r.table));
  }
  if (!r.decided_by.empty()) {
    line.add("decided_by", r.decided_by);
  }
  if (r.scored.is_known()) {
    line.add("scored", as_json(r.scored));
  }
  line.add("ms", r.seconds * 1e3);
  line.add("memory", r.memory);
  if (!r.losses.empty()) {
    line.add("losses", losses_as_json(r.losses));
  }
  append(line.finish());
}

void MetricsLog::write(const RunHeader& header) {
  Line line("header");
  line.add("format", kFormat);
  line.add("step", header.step);
  line.add(header.provenance);
  line.add("parameters", header.parameters);
  line.add("tokenizer", header.tokenizer);
  line.add("vocab_size", header.vocab_size);
  line.add("train_tokens", header.train_tokens);
  line.add("val_tokens", header.val_tokens);
  line.add("corpus", header.corpus);
  line.add("bytes_per_token", header.bytes_per_token);
  if (!header.settings.empty()) {
    Json settings = Json::object();
    for (const auto& [name, value] : header.settings) {
      settings[name] = value;
    }
    line.add("settings", settings);
  }
  append(line.finish());
  has_header_ = true;
}

void MetricsLog::write_resume(index step, const Provenance& by) {
  Line line("resume");
  line.add("step", step);
  line.add(by);
  append(line.finish());
}

void MetricsLog::write(const char* event, index step, std::initializer_list<Field> fields) {
  Line line(event);
  line.add("step", step);
  for (const auto& [name, value] : fields) {
    std::visit([&, key = name](const auto& v) { line.add(key, v); }, value);
  }
  append(line.finish());
}

}  // namespace dikkat
