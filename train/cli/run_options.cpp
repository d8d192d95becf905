#include "train/cli/run_options.h"

#include <algorithm>
#include <iterator>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/schema.h"
#include "train/config/value.h"
#include "train/run/origin.h"
#include "train/system/folder.h"
#include "train/system/nearest_word.h"

namespace dikkat {

namespace fs = std::filesystem;

namespace {

/// Adds the text that --evaluate NAME=PATH names. Options with the same name add files to one text.
void add_evaluation(DataConfig& data, const std::string& text) {
  const std::size_t mark = text.find('=');
  require_input(mark != std::string::npos && mark > 0 && mark + 1 < text.size(), "--evaluate is ", schema::in_quotes(text),
                ", expected NAME=PATH: a name for the text, and its files or folder");
  const std::string name = text.substr(0, mark);
  auto named = std::ranges::find(data.evaluations, name, &EvaluationSource::name);
  if (named == data.evaluations.end()) {
    named = data.evaluations.insert(named, {.name = name});
  }
  named->corpus.push_back(text.substr(mark + 1));
}

void add_replay(DataConfig& data, const RunOptions& run) {
  require_input(data.sources.empty() && !data.corpus.empty(), "--replay mixes a text into the corpus, but ",
                data.sources.empty() ? "there is no corpus: name one" : "data.sources already sets the mixture: add the text there");
  data.sources = {{.name = "data", .corpus = data.corpus, .validation = data.validation, .weight = 1 - run.replay_share},
                  {.name = "replay", .corpus = run.replay, .weight = run.replay_share}};
  data.corpus.clear();
  data.validation.clear();
}

/// Returns the keys that the user gave: all of --set and `edits`, and those of the file that differ from their defaults, since `dikkat
/// config init` writes every key.
std::vector<std::string> keys_of_user(const fs::path& file, const std::vector<std::string>& in_file, const Config& config,
                                      const RunOptions& run) {
  static const Config defaults;
  std::vector<std::string> keys;
  for (const schema::Key& key : schema::keys()) {
    if (std::ranges::find(in_file, key.path()) != in_file.end() && key.get(config) != key.get(defaults) && !is_recipe(file)) {
      keys.push_back(key.path());
    }
  }
  std::ranges::transform(run.set, std::back_inserter(keys), key_of_override);
  std::ranges::transform(run.edits, std::back_inserter(keys), [](const ConfigEdit& edit) { return edit.key().path(); });
  return keys;
}

}  // namespace

Config configuration_of(const RunOptions& run, const TrainConfig& defaults, std::vector<std::string>* written) {
  // The options are written over the defaults, or over the model that the run starts from.
  return complete_config([&](Config base) {
    base.train = defaults;
    std::vector<std::string> in_file;
    const fs::path file = run.config.empty() ? fs::path() : find_config(run.config);
    Config config = run.config.empty() ? base : load_config(file, base, &in_file);
    if (written != nullptr) {
      *written = keys_of_user(file, in_file, config, run);
    }
    for (const std::string& assignment : run.set) {
      apply_override(config, assignment);
    }
    for (const ConfigEdit& edit : run.edits) {
      edit.apply(config);
    }
    config.data.corpus = run.corpus.empty() ? config.data.corpus : run.corpus;
    config.data.columns = run.columns.empty() ? config.data.columns : run.columns;
    config.train.init_from = run.init_from.empty() ? config.train.init_from : run.init_from;
    for (const std::string& one : run.evaluate) {
      add_evaluation(config.data, one);
    }
    if (!run.replay.empty()) {
      add_replay(config.data, run);
    }
    return config;
  });
}

bool is_set(const RunOptions& run, const char* key) {
  return std::ranges::any_of(run.set, [&](const std::string& setting) { return setting.starts_with(concat(key, '=')); });
}

std::vector<fs::path> recipes() {
  const fs::path program = program_file().parent_path();
  std::vector<fs::path> files;
  for (const char* folder : {"../share/dikkat/configs", "../../configs"}) {  // installed; in a build folder of the repository
    const fs::path place = (program / folder).lexically_normal();
    for (const fs::path& file : is_folder(place) ? paths_in(place) : std::vector<fs::path>()) {
      if (file.extension() == ".toml") {
        files.push_back(file);
      }
    }
    if (!files.empty()) {
      break;
    }
  }
  std::ranges::sort(files, {}, [](const fs::path& file) { return file.stem().string(); });
  return files;
}

std::string shipped_data(const char* name) {
  const std::vector<fs::path> known = recipes();
  require_input(!known.empty(), "the conversations that come with dikkat (data/", name, ") are not beside the program: give --chats FILE");
  return (known.front().parent_path() / "../data" / name).lexically_normal().string();
}

bool is_recipe(const fs::path& file) {
  std::error_code none;
  return std::ranges::any_of(recipes(), [&](const fs::path& recipe) { return fs::equivalent(recipe, file, none); });
}

fs::path find_config(const std::string& name) {
  std::error_code none;
  if (fs::exists(name, none) || fs::path(name).has_parent_path()) {
    return name;
  }
  const std::string wanted = fs::path(name).extension() == ".toml" ? fs::path(name).stem().string() : name;
  std::vector<std::string> names;
  std::string list;
  for (const fs::path& file : recipes()) {
    if (file.stem() == wanted) {
      return file;
    }
    names.push_back(file.stem().string());
    list += concat(list.empty() ? "" : ", ", names.back());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = nearest_word(views, wanted);
  fail_input(name, ": there is no such file, expected a configuration in TOML or the name of a recipe that comes with dikkat",
             nearest.empty() ? concat(": ", list) : concat("; did you mean ", nearest, "? (`dikkat config list` lists them)"));
}

NewRunPath new_run_path(const std::string& out, const fs::path& config) {
  NewRunPath path = out.empty() ? NewRunPath(fs::path("runs") / (config.empty() ? "default" : config.stem()), true) : NewRunPath(out);
  path.continues = !path.numbered;
  return path;
}

}  // namespace dikkat
