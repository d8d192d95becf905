#include "train/loop/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autograd/base/error.h"
#include "train/checkpoint/file.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinity: they become null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Calls f(line, object) for every whole line that is about a step.
template <class F>
void for_each_line(const std::string& text, F&& f) {
  const std::size_t end = text.rfind('\n');
  std::istringstream lines(end == std::string::npos ? std::string() : text.substr(0, end + 1));
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_object() && object.contains("step") && object["step"].is_number_integer()) {
      f(line, object);
    }
  }
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file, index last_step) : file_(file) {
  if (std::filesystem::exists(file)) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    std::string kept;
    for_each_line(text.str(), [&](const std::string& line, const Json& object) {
      if (object["step"].get<index>() > last_step) {
        return;
      }
      kept += line + '\n';
      if (object["step"].get<index>() == last_step && object.value("event", "") == "eval" && object.value("val_loss", Json()).is_number()) {
        evaluation_ = EvaluationReport{.step = last_step, .train_loss = object.value("train_loss", 0.0), .val_loss = object["val_loss"].get<double>()};
      }
    });
    if (kept != text.str()) {
      replace_file(file, kept);
    }
  }
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  require(descriptor_ >= 0, file.string(), ": cannot be opened for writing: ", std::strerror(errno));
}

MetricsLog::~MetricsLog() { ::close(descriptor_); }

void MetricsLog::append(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(descriptor_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    require(count > 0, file_.string(), ": cannot be written: ", std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
}

void MetricsLog::write(const StepReport& r) {
  append(Json{{"event", "step"},
              {"step", r.step},
              {"loss", number(r.loss)},
              {"grad_norm", number(r.gradient_norm)},
              {"learning_rate", r.learning_rate},
              {"tokens", r.tokens},
              {"ms", r.seconds * 1e3},
              {"tokens_per_s", number(r.tokens_per_second())}}
             .dump() +
         '\n');
}

void MetricsLog::write(const EvaluationReport& r) {
  append(Json{{"event", "eval"},
              {"step", r.step},
              {"train_loss", number(r.train_loss)},
              {"val_loss", number(r.val_loss)},
              {"ms", r.seconds * 1e3}}
             .dump() +
         '\n');
}

}  // namespace dikkat
