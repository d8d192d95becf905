#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/effect_notes.h"
#include "train/cli/run_options.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/accumulation.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/model/language_model.h"
#include "train/system/file.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

struct ConfigShowArguments {
  std::string name;
  std::string config;
  std::vector<std::string> set;
  bool only_changed = false;
};

struct ConfigInitArguments {
  std::string file = "dikkat.toml";
  std::string config;
  std::vector<std::string> set;
};

int config_show_command(const ConfigShowArguments& arguments) {
  require_input(arguments.name.empty() || arguments.config.empty(), "config show: ", arguments.name, " and --config ", arguments.config,
                " both name a configuration: give only one of them");
  const std::string& file = arguments.name.empty() ? arguments.config : arguments.name;
  std::vector<std::string> written;
  const PlannedRun run{.config = configuration_of({.config = file, .set = arguments.set}, {}, &written)};
  const Config& config = run.config;
  note_keys_without_effect(run, written);
  print_result(arguments.only_changed ? to_toml_of_changes(config) : to_recipe(config));
  flush_results();
  return 0;
}

int config_init_command(const ConfigInitArguments& arguments) {
  const Config config = configuration_of({.config = arguments.config, .set = arguments.set});
  if (arguments.file == "-") {
    print_result(to_commented_toml(config));
    flush_results();
    return 0;
  }
  const std::filesystem::path file = arguments.file;
  require_input(!is_there(file), file.string(), " exists already, and nothing is overwritten: choose another FILE, or - to print it");
  require_input(!file.has_parent_path() || is_folder(file.parent_path()), file.parent_path().string(),
                " is not a folder, expected one to write ", file.filename().string(), " into");
  write_new_file(file, to_commented_toml(config));
  print_result(file.string() + '\n');
  flush_results();
  return 0;
}

/// Returns the first sentence of the comment at a file's beginning.
std::string first_sentence(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("# ") && !line.starts_with("#   ");) {  // which begins a command line
    text += text.empty() ? "" : " ";
    text += line.substr(2);
  }
  std::size_t end = 0;  // a full stop before a capital letter, unlike that of "et al. (2017)"
  while ((end = text.find(". ", end)) != std::string::npos && (text[end + 2] < 'A' || text[end + 2] > 'Z')) {
    ++end;
  }
  text.resize(std::min(text.size(), end));
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

constexpr std::string_view kFirst = "quickstart";

struct RecipeSize {
  std::string parameters = "-", time = "-";  // "-": unknown, since the recipe adapts any model
};

/// Returns "40 s", "15 min", "3 h" or "23 days".
std::string rough_time(double seconds) {
  const auto [unit, name] = seconds < 90      ? std::pair(1.0, "s")
                            : seconds < 5400  ? std::pair(60.0, "min")
                            : seconds < 1.3e5 ? std::pair(3600.0, "h")
                                              : std::pair(86400.0, "days");
  return fmt::format("{:.0f} {}", seconds / unit, name);
}

/// Estimates the size and time of a recipe. Guesses the size of the vocabulary if it depends on the text.
RecipeSize size_of_recipe(const std::filesystem::path& file) {
  constexpr index kCharacters = 100, kWords = 1000;
  constexpr double kOperations = 250e9;  // FLOP/s on two fast cores, as quickstart, llama-tiny and shakespeare-best reached
  if (file.stem() == "finetune") {
    return {};
  }
  Config config = load_config(file);
  resolve(config);
  const index learned = config.tokenizer.kind == "bpe"    ? config.tokenizer.vocab_size
                        : config.tokenizer.kind == "word" ? kWords
                                                          : kCharacters;
  const LanguageModel model(config.model, config.model.vocab_size.is_open() ? learned : *config.model.vocab_size);
  const auto parameters = static_cast<double>(model.parameters().parameter_count());
  const auto samples = static_cast<double>(config.train.batch_size * Accumulation(config.train).passes(0, config.train.max_steps));
  const double tokens = samples * static_cast<double>(config.model.block_size);
  return {.parameters = short_count(static_cast<index>(parameters)),
          .time = config.model.kind == ModelKind::gpt ? rough_time(6 * parameters * tokens / kOperations)
                                                      : "-"};  // the lengths of pairs are unknown
}

int config_list_command(bool only_names) {
  std::size_t width = 0;
  for (const std::filesystem::path& file : recipes()) {
    width = std::max(width, file.stem().string().size());
  }
  if (!only_names) {
    print_result(concat("name", std::string(width - 4 + 2, ' '), fmt::format("{:>10}  {:>8}  ", "parameters", "time"), "description\n"));
  }
  for (const std::filesystem::path& file : recipes()) {
    const std::string name = file.stem().string();
    if (only_names) {
      print_result(name + '\n');
      continue;
    }
    const RecipeSize size = size_of_recipe(file);
    print_result(concat(name, std::string(width - name.size() + 2, ' '), fmt::format("{:>10}  {:>8}  ", size.parameters, size.time),
                        name == kFirst ? "START HERE. " : "", first_sentence(file), '\n'));
  }
  if (!only_names) {
    print_result("Times are rough estimates for two fast cores; `dikkat plan --config NAME` measures this machine.\n");
  }
  flush_results();
  return 0;
}

int config_keys_command() {
  for (const schema::Key& key : schema::keys()) {
    print_result(key.path() + '\n');
  }
  flush_results();
  return 0;
}

}  // namespace

void add_config(Commands& program) {
  Commands config = program.group("config", "List recipes, show a configuration, or write one to start from");
  {
    const auto only_names = std::make_shared<bool>();
    Command command = config.add("list", "List the recipes that --config takes by name", "  dikkat config list",
                                 [only_names] { return config_list_command(*only_names); });
    command.flag("--names", *only_names, "Print only the names");
  }
  config.add("keys", "List all keys, which dikkat --help-config explains", "  dikkat config keys | grep muon",
             [] { return config_keys_command(); });
  {
    constexpr const char* kExamples = R"(  dikkat config show quickstart
  dikkat config show quickstart --set model.n_layer=6 --only-changed > mine.toml)";
    const auto a = std::make_shared<ConfigShowArguments>();
    Command command = config.add("show", "Print a configuration as TOML, with --set applied; derived values are comments", kExamples,
                                 [a] { return config_show_command(*a); });
    command.text("FILE|NAME", a->name, "", "Configuration to show, as with --config");
    command.text("--config", a->config, "FILE|NAME", kConfigHelp);
    command.texts("--set", a->set, "KEY=VALUE", kSetHelp);
    command.flag("--only-changed", a->only_changed, "Print only keys that differ from their defaults");
  }
  {
    constexpr const char* kExamples = R"(  dikkat config init mine.toml
  dikkat config init mine.toml --config quickstart
  dikkat config init - | less)";
    const auto a = std::make_shared<ConfigInitArguments>();
    Command command = config.add("init", "Write a TOML file with every key and a comment that explains it", kExamples,
                                 [a] { return config_init_command(*a); });
    command.text("FILE", a->file, "", "File to create; - prints to standard output");
    command.text("--config", a->config, "FILE|NAME", kConfigHelp);
    command.texts("--set", a->set, "KEY=VALUE", kSetHelp);
  }
}

}  // namespace dikkat
