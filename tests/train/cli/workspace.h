#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/train/cli/program.h"

namespace dikkat::testing {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

inline std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Words of tales in an order that seems random: `count` of them, about five bytes each.
inline std::string tiny_text(int count = 600) {
  constexpr const char* kWords[] = {"the ", "lamp ", "turns ", "and ", "ships ", "go ", "by ", "at ", "night.\n"};
  std::string text;
  unsigned state = 7;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    text += kWords[(state >> 16) % 9];
  }
  return text;
}

/// This has everything that could break exact resume: dropout, accumulation, clipping, warm-up, evaluation, epochs that end mid-step.
inline constexpr const char* kTinyConfig = R"([model]
n_layer = 2
n_head = 2
n_embd = 16
block_size = 24
dropout = 0.1
[tokenizer]
kind = "byte"
[data]
corpus = ["text.txt"]
[optim]
learning_rate = 1e-2
warmup_steps = 5
grad_clip = 0.5
[train]
batch_size = 5
gradient_accumulation_steps = 3
max_steps = 20
eval_interval = 6
checkpoint_interval = 4
keep_last = 2
)";

/// A folder for only this test, with text.txt and tiny.toml in it, in which programs run. It is removed at the end.
class Workspace {
 public:
  Workspace() {
    static int count = 0;
    path_ = std::filesystem::canonical(std::filesystem::temp_directory_path()) /
            ("dikkat-cli-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
    write("text.txt", tiny_text());
    write("tiny.toml", kTinyConfig);
  }
  ~Workspace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_.string(); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

  /// Starts the program here, with the defaults for everything that `start` does not set.
  Start here(const Words& arguments, Start start = {}) const {
    start.arguments = arguments;
    start.folder = path_.string();
    return start;
  }
  Outcome run(const Words& arguments, const Start& start = {}) const { return testing::run(here(arguments, start)); }

  /// Trains a run with the name `out`, by tiny.toml and these settings.
  Outcome train(const std::string& out, const Words& settings = {}) const {
    Words arguments = {"train", "--config", "tiny.toml", "--out", out};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  std::string checkpoint(const std::string& run, int step) const {
    std::string digits = std::to_string(step);
    return contents(path_ / run / "checkpoints" / ("step-" + std::string(9 - digits.size(), '0') + digits + ".h5"));
  }

  /// The lines of a run's metrics.jsonl, each of which must be one object.
  std::vector<Json> log(const std::string& run) const {
    std::vector<Json> objects;
    std::ifstream file(path_ / run / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      objects.push_back(Json::parse(line, nullptr, false));
      EXPECT_TRUE(objects.back().is_object()) << line;
    }
    return objects;
  }
  /// The lines of steps and evaluations.
  std::vector<Json> metrics(const std::string& run) const {
    std::vector<Json> objects = log(run);
    std::erase_if(objects, [](const Json& object) { return object["event"] != "step" && object["event"] != "eval"; });
    return objects;
  }
  /// The lines of steps and evaluations, without times.
  std::vector<Json> timeless_metrics(const std::string& run) const {
    std::vector<Json> objects = metrics(run);
    for (Json& object : objects) {
      object.erase("ms");
      object.erase("optimizer_ms");
      object.erase("tokens_per_s");
      object.erase("mfu");
      object.erase("memory");
      object.erase("time");
    }
    return objects;
  }
  /// The number of steps and evaluations in a metrics.jsonl that a run may be writing.
  long metric_lines(const std::string& run) const {
    std::istringstream text(contents(path_ / run / "metrics.jsonl"));
    long count = 0;
    for (std::string line; std::getline(text, line) && !text.eof();) {
      count += line.starts_with(R"({"event":"step")") || line.starts_with(R"({"event":"eval")") ? 1 : 0;
    }
    return count;
  }

  /// Every file with its contents, except for a lock's, which names the process that had it last.
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      const std::string name = entry.path().lexically_relative(path_).string();
      files[name] = !entry.is_regular_file() ? "(no file)" : entry.path().filename() == ".lock" ? "(lock)" : contents(entry.path());
    }
    return files;
  }

 private:
  std::filesystem::path path_;
};

/// Formats a number with this many decimals.
inline std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

/// Returns the words, and more after them.
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The lines of a text that contain this part.
inline Words lines_with(const std::string& text, const std::string& part) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (contains(line, part)) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// Returns the JSON that a successful command prints.
inline Json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

/// Expects that the text names every fragment: a key, option, path, position, number or name. A fragment is never a sentence.
inline void expect_named(const std::string& text, const Words& fragments) {
  for (const std::string& fragment : fragments) {
    EXPECT_TRUE(contains(text, fragment)) << fragment << " is not in\n" << text;
  }
}

/// Expects that the command ends with this code and a message that names every fragment, prints no result and changes no file. Returns the
/// message.
inline std::string expect_refused(const Workspace& here, const Words& arguments, const Words& fragments, int code = 2) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  const auto before = here.tree();
  const Outcome outcome = here.run(arguments);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("dikkat: ")) << outcome.err;
  expect_named(outcome.err, fragments);
  EXPECT_TRUE(here.tree() == before) << "something was written";
  return outcome.err;
}

}  // namespace dikkat::testing
