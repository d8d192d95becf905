#include "train/cli/description.h"

#include <CLI/CLI.hpp>

namespace dikkat {
namespace {

OptionDescription describe(const CLI::Option& option) {
  OptionDescription found{
      .help = option.get_description(), .default_value = option.get_default_str(), .is_argument = option.get_positional()};
  if (found.is_argument) {
    found.names = {option.get_name(true)};
    return found;
  }
  for (const std::string& name : option.get_snames()) {
    found.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    found.names.push_back("--" + name);
  }
  found.type = option.get_expected_max() == 0 ? "" : option.get_type_name();
  return found;
}

}  // namespace

CommandDescription describe(const CLI::App& app) {
  CommandDescription found{.name = app.get_name(), .what = app.get_description(), .examples = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    found.options.push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    found.commands.push_back(describe(*command));
  }
  return found;
}

}  // namespace dikkat
