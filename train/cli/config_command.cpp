#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/cli/wanted_run.h"
#include "train/config/parse.h"
#include "train/config/schema.h"
#include "train/io/folder.h"

namespace dikkat {
namespace {

struct ConfigShowArguments {
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
  const Config config = configuration_of({.config = arguments.config, .set = arguments.set});
  put(arguments.only_changed ? to_toml_of_changes(config) : to_recipe(config));
  flush_results();
  return 0;
}

int config_init_command(const ConfigInitArguments& arguments) {
  const Config config = configuration_of({.config = arguments.config, .set = arguments.set});
  if (arguments.file == "-") {
    put(to_commented_toml(config));
    flush_results();
    return 0;
  }
  const std::filesystem::path file = arguments.file;
  require_input(!is_there(file), file.string(), " exists already, and nothing is overwritten; give another FILE, or - to print it");
  require_input(!file.has_parent_path() || is_folder(file.parent_path()), file.parent_path().string(),
                " is no folder, expected one to write ", file.filename().string(), " into");
  write_new_file(file, to_commented_toml(config));
  put(file.string() + '\n');
  flush_results();
  return 0;
}

/// The first sentence of the comment at a file's beginning.
std::string first_sentence(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("# ");) {
    text += text.empty() ? "" : " ";
    text += line.substr(2);
  }
  std::size_t end = 0;  // a point before a capital letter; "et al. (2017)" has none
  while ((end = text.find(". ", end)) != std::string::npos && (text[end + 2] < 'A' || text[end + 2] > 'Z')) {
    ++end;
  }
  text.resize(std::min(text.size(), end));
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

int config_list_command(bool only_names) {
  std::size_t width = 0;
  for (const std::filesystem::path& file : recipes()) {
    width = std::max(width, file.stem().string().size());
  }
  for (const std::filesystem::path& file : recipes()) {
    const std::string name = file.stem().string();
    put(only_names ? name + '\n' : concat(name, std::string(width - name.size() + 2, ' '), first_sentence(file), '\n'));
  }
  flush_results();
  return 0;
}

int config_keys_command() {
  for (const schema::Key& key : schema::keys()) {
    put(key.path() + '\n');
  }
  flush_results();
  return 0;
}

}  // namespace

void add_config(Commands& program) {
  Commands config = program.group("config", "List the recipes, show a configuration, or write one to begin with");
  {
    const auto only_names = std::make_shared<bool>();
    Command command = config.add("list", "List the recipes that --config takes by name", "  dikkat config list", [only_names] { return config_list_command(*only_names); });
    command.flag("--names", *only_names, "Print the names alone");
  }
  config.add("keys", "List all keys; dikkat --help-config explains them", "  dikkat config keys | grep muon", [] { return config_keys_command(); });
  {
    constexpr const char* kExamples = R"(  dikkat config show --config quickstart
  dikkat config show --config quickstart --set model.n_layer=6 --only-changed > mine.toml)";
    const auto a = std::make_shared<ConfigShowArguments>();
    Command command = config.add("show", "Print a configuration as TOML, with --set applied; values that follow from others are comments",
                                 kExamples, [a] { return config_show_command(*a); });
    command.text("--config", a->config, "FILE|NAME", kConfigHelp);
    command.texts("--set", a->set, "KEY=VALUE", kSetHelp);
    command.flag("--only-changed", a->only_changed, "Print only keys that differ from their defaults");
  }
  {
    constexpr const char* kExamples = R"(  dikkat config init mine.toml
  dikkat config init mine.toml --config quickstart
  dikkat config init - | less)";
    const auto a = std::make_shared<ConfigInitArguments>();
    Command command = config.add("init", "Write a TOML file with every key, each with a comment that explains it", kExamples,
                                 [a] { return config_init_command(*a); });
    command.text("FILE", a->file, "", "A new file; - prints to standard output");
    command.text("--config", a->config, "FILE|NAME", kConfigHelp);
    command.texts("--set", a->set, "KEY=VALUE", kSetHelp);
  }
}

}  // namespace dikkat
