#include "train/loop/metrics.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/io/file.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;

constexpr index kFormat = 1;  // of the file; a reader ignores events and keys that it does not know

/// How a line of ours begins, and what is left of one that was cut off.
constexpr std::string_view kStart = "{\"event\":";

/// The step that a line is about.
std::optional<index> step_of(const Json& object) {
  const auto step = object.is_object() ? object.find("step") : object.end();
  const bool is_step = step != object.end() && step->is_number_integer() &&
                       !(step->is_number_unsigned() && step->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<index>::max()});
  return is_step ? std::optional(step->get<index>()) : std::nullopt;
}

/// The number of this name; NaN where it is null, as NaN and infinity are written, or is not there.
double number_in(const Json& object, const char* name) {
  const auto number = object.find(name);
  return number != object.end() && number->is_number() ? number->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string text_in(const Json& object, const char* name) {
  const auto text = object.find(name);
  return text != object.end() && text->is_string() ? text->get<std::string>() : "";
}

/// The whole number of this name; 0 where there is none from 0 to 2^53.
index count_in(const Json& object, const char* name) {
  constexpr double kMost = 9007199254740992;
  const double number = number_in(object, name);
  return number >= 0 && number <= kMost ? static_cast<index>(number) : 0;
}

bool is_event(const Json& object, const char* name) {
  const auto event = object.find("event");
  return event != object.end() && *event == name;
}

RunHeader header_in(const Json& object, index step) {
  RunHeader header{.by = {.date = text_in(object, "date"),
                          .version = text_in(object, "version"),
                          .commit = text_in(object, "commit"),
                          .host = text_in(object, "host"),
                          .processor = text_in(object, "processor"),
                          .threads = static_cast<int>(std::min<index>(count_in(object, "threads"), std::numeric_limits<int>::max()))},
                   .step = step,
                   .parameters = count_in(object, "parameters"),
                   .corpus = text_in(object, "corpus")};
  if (const auto command = object.find("command"); command != object.end() && command->is_array()) {
    for (const Json& word : *command) {
      header.by.command.push_back(word.is_string() ? word.get<std::string>() : "");
    }
  }
  return header;
}

}  // namespace

KeptMetrics keep_metrics(const std::string& text, index last_step) {
  KeptMetrics kept;
  std::size_t end = 0;
  for (std::size_t begin = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const Json object = Json::parse(line, nullptr, false);
    const std::optional<index> step = step_of(object);
    const bool torn = object.is_discarded() && (line.starts_with(kStart) || kStart.starts_with(line));
    if (!step && !torn) {
      ++kept.foreign;
    }
    if (!step || *step > last_step) {
      continue;
    }
    append_to(kept.text, line);
    kept.text += '\n';
    if (is_event(object, "header") && !kept.header) {
      kept.header = header_in(object, *step);
    }
    if (*step == last_step && is_event(object, "eval") && !std::isnan(number_in(object, "val_loss"))) {
      kept.evaluation = EvaluationReport{.step = last_step,
                                         .train_loss = number_in(object, "train_loss"),
                                         .val_loss = number_in(object, "val_loss"),
                                         .val_standard_error = number_in(object, "val_standard_error")};
    }
    if (const double ms = number_in(object, "ms"); ms > 0) {
      kept.seconds += ms / 1e3;
    }
  }
  return kept;
}

namespace {

std::string contents_of(const std::filesystem::path& path) {
  try {
    const File file = File::open_regular(path);
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    require_done(file.read(0, std::as_writable_bytes(std::span(text))), Operation::read);
    return text;
  } catch (const Error& error) {
    fail(path.string(), ' ', error.what(), "; mend it, or move it away to go on without the metrics of the steps before");
  }
}

}  // namespace

std::optional<RunHeader> read_run_header(const std::filesystem::path& run_directory) {
  constexpr index kMost = index{1} << 22;  // bytes of the line
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
    return keep_metrics(contents_of(run_directory / "metrics.jsonl"), step).evaluation;
  } catch (const Error&) {
    return std::nullopt;
  }
}

double read_seconds(const std::filesystem::path& run_directory, index step) {
  try {
    return keep_metrics(contents_of(run_directory / "metrics.jsonl"), step).seconds;
  } catch (const Error&) {
    return 0;
  }
}

MetricsLog::MetricsLog(const std::filesystem::path& file, index last_step) : file_(file) {
  bool has_any = false;
  if (is_there(file)) {
    const std::string text = contents_of(file);
    KeptMetrics kept = keep_metrics(text, last_step);
    evaluation_ = kept.evaluation;
    has_header_ = kept.header.has_value();
    has_any = !kept.text.empty();
    if (kept.foreign > 0) {
      const std::filesystem::path aside = name_aside(file);
      replace_file(aside, text);
      remark_ =
          concat(file.string(), " has lines that are not of this run (", kept.foreign, "), and is kept as ", aside.filename().string());
    }
    if (kept.text != text) {
      replace_file(file, kept.text);
    }
  }
  if (last_step > 0 && !has_any && remark_.empty()) {
    remark_ = concat(file.string(), " has nothing of the ", last_step, " steps before: it begins anew");
  }
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  require(descriptor_ >= 0, file.string(), ": cannot be opened for writing: ", errno_text);
  struct stat status {};
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    fail(file.string(), ": cannot be written: ", error != 0 ? describe_errno(error) : "it is no regular file");
  }
}

MetricsLog::~MetricsLog() { ::close(descriptor_); }

namespace {

/// A line of JSON, built in place: training writes one every step, and allocates nothing in its steady state.
class Line {
 public:
  explicit Line(const char* event) { fmt::format_to(std::back_inserter(text_), "{}\"{}\"", kStart, event); }
  void add(const char* name, index value) { fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, value); }
  /// The shortest digits that read back to the same bits. JSON has no NaN and no infinity: they become null.
  void add(const char* name, double value) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, value);
    } else {
      fmt::format_to(std::back_inserter(text_), ",\"{}\":null", name);
    }
  }
  /// JSON is UTF-8: other bytes are replaced.
  void add(const char* name, const Json& value) {
    fmt::format_to(std::back_inserter(text_), ",\"{}\":{}", name, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void add(const char* name, const std::string& value) { add(name, Json(value)); }
  void add(const Provenance& by) {
    add("date", by.date);
    add("version", by.version);
    add("commit", by.commit);
    add("command", Json(by.command));
    add("host", by.host);
    add("processor", by.processor);
    add("threads", index{by.threads});
  }
  /// Ends it with the time: seconds since 1970-01-01 00:00 UTC.
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
  if (std::exchange(torn_, false)) {
    append("\n");
  }
  constexpr int kMaxInterruptions = 1000;  // in a row: a storm of signals ends in an error and not in a hang
  int interruptions = 0;
  while (!line.empty()) {
    const ssize_t count = ::write(descriptor_, line.data(), line.size());
    if (count < 0 && errno == EINTR && ++interruptions < kMaxInterruptions) {
      continue;
    }
    torn_ = count <= 0;
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
  line.add("ms", r.seconds * 1e3);
  line.add("optimizer_ms", r.optimizer_seconds * 1e3);
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
  line.add("ms", r.seconds * 1e3);
  append(line.finish());
}

void MetricsLog::write(const RunHeader& header) {
  Line line("header");
  line.add("format", kFormat);
  line.add("step", header.step);
  line.add(header.by);
  line.add("parameters", header.parameters);
  line.add("corpus", header.corpus);
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
