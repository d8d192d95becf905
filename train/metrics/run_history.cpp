#include "train/metrics/run_history.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <sys/stat.h>

#include "autograd/base/error.h"
#include "train/metrics/line_fields.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {

using namespace metrics_line;  // NOLINT(google-build-using-namespace): for the functions that read fields

namespace {

StepReport step_in(const Json& object, index step) {
  return {.step = step,
          .loss = number_in(object, "loss"),
          .gradient_norm = number_in(object, "grad_norm"),
          .learning_rate = number_in(object, "learning_rate"),
          .skipped = count_in(object, "skipped") > 0,
          .tokens = count_in(object, "tokens"),
          .seconds = number_in(object, "ms") / 1e3,
          .optimizer_seconds = number_in(object, "optimizer_ms") / 1e3,
          .mfu = number_in(object, "mfu"),
          .metrics = step_metrics_in(object)};
}

}  // namespace

index RunHistory::last_step() const {
  index last = header ? header->step : 0;
  const auto look_at = [&](index step) { last = std::max(last, step); };
  if (!steps.empty()) {
    look_at(steps.back().report.step);
  }
  if (!evaluations.empty()) {
    look_at(evaluations.back().report.step);
  }
  if (!events.empty()) {
    look_at(events.back().step);
  }
  return last;
}

const RunHistory::Evaluation* RunHistory::best() const {
  const Evaluation* best = nullptr;
  for (const Evaluation& one : evaluations) {
    if (!std::isnan(one.report.val_loss) && (best == nullptr || is_better(score_of(one.report), score_of(best->report)))) {
      best = &one;
    }
  }
  return best;
}

bool RunHistory::finished() const { return !events.empty() && events.back().kind == "finish"; }

HistoryReader::HistoryReader(const std::filesystem::path& run_directory) : file_(run_directory / "metrics.jsonl") {}

void HistoryReader::add(std::string_view line) {
  const Json object = try_json(line).value_or(nullptr);
  const std::optional<index> step = step_of(object);
  if (!step) {
    return;
  }
  const double time = number_in(object, "time");
  if (is_event(object, "step")) {
    history_.steps.push_back({step_in(object, *step), time});
  } else if (is_event(object, "eval")) {
    history_.evaluations.push_back({evaluation_in(object, *step), time});
  } else if (is_event(object, "save")) {
    history_.saves.push_back({.step = *step, .time = time, .file = text_in(object, "file"), .bytes = count_in(object, "bytes")});
  } else if (is_event(object, "sample")) {
    history_.samples.push_back({.step = *step, .prompt = text_in(object, "prompt"), .text = text_in(object, "text")});
  } else if (is_event(object, "header")) {
    history_.header = header_in(object, *step);
  } else {
    for (const char* kind : {"resume", "change", "stop", "finish"}) {
      if (is_event(object, kind)) {
        history_.events.push_back({.kind = kind,
                                   .step = *step,
                                   .time = time,
                                   .reason = text_in(object, "reason"),
                                   .key = text_in(object, "key"),
                                   .before = text_in(object, "before"),
                                   .after = text_in(object, "after"),
                                   .provenance = provenance_in(object)});
      }
    }
  }
}

bool HistoryReader::update() {
  constexpr std::uintmax_t kPiece = std::uintmax_t{1} << 22;  // bytes; lines that this program writes are shorter
  bool any = false;
  try {
    // Read the inode before opening the file: if the file is replaced in between, the next update sees another inode.
    struct stat info{};
    const std::uint64_t identity = ::stat(file_.c_str(), &info) == 0 ? info.st_ino : 0;
    const File file = File::open_regular(file_);
    const auto size = static_cast<std::uintmax_t>(file.size());
    if (identity != identity_ || size < bytes_read_) {
      history_ = {};
      partial_line_.clear();
      bytes_read_ = 0;
      identity_ = identity;
    }
    // Read the new bytes in pieces, and keep an incomplete last line for the next time.
    while (bytes_read_ < size) {
      const auto count = static_cast<std::size_t>(std::min(kPiece, size - bytes_read_));
      std::string text = std::move(partial_line_);
      const std::size_t begin = text.size();
      text.resize(begin + count);
      require_done(file.read(static_cast<index>(bytes_read_), std::as_writable_bytes(std::span(text)).subspan(begin)), Operation::read);
      bytes_read_ += count;
      std::size_t from = 0;
      for (std::size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
        add(std::string_view(text).substr(from, end - from));
        any = true;
      }
      partial_line_ = text.size() - from > kPiece ? "" : text.substr(from);
    }
  } catch (const Error&) {
    identity_ = 0;  // read it from the start next time
  }
  return any;
}

RunHistory read_history(const std::filesystem::path& run_directory) {
  const std::filesystem::path file = run_directory / "metrics.jsonl";
  require_input(is_there(run_directory), run_directory.string(), " does not exist, expected a run directory");
  std::error_code none;
  require_input(std::filesystem::is_directory(run_directory, none), run_directory.string(), " is a file, expected a run directory");
  require_input(is_there(file) || !is_there(run_directory / "checkpoints"), run_directory.string(),
                " is a model from dikkat merge or import, which has no history: use it with sample, chat, eval, serve, finetune or export");
  require_input(is_there(file), run_directory.string(),
                " has no metrics.jsonl, expected a run directory (`dikkat runs` lists those in runs/)");
  HistoryReader reader(run_directory);
  const bool any = reader.update();
  require_input(any && (reader.history().header || reader.history().last_step() > 0), file.string(),
                " has no line about a run: it is empty or cannot be read");
  return reader.history();
}

}  // namespace dikkat
