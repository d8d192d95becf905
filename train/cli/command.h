#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/cli/description.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// How commands are declared. A command is one file, NAME_command.cpp: its arguments, its options with their help, and what it does. The
// classes here hide CLI11.
namespace dikkat {

/// One option or argument of a command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// Adds the option's name to `given` if the user gives it.
  Option& note_in(std::vector<std::string>& given);

 private:
  CLI::Option* option_;
};

/// Declares the options of one command. The variables that they set must live until the command has run: the action passed to
/// Commands::add() should own them. A name without dashes ("RUN_DIR") is a positional argument. The values at the time of the declaration
/// are the defaults, which --help shows.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  /// Adds an option for a path or another string. An empty one is refused: it is usually a mistake, such as an unset shell variable.
  Option text(const char* name, std::string& value, const char* type, const std::string& help);
  /// Adds an option that takes several strings after its name, and may be given several times.
  Option texts(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// Adds an option that takes a list of strings, separated by commas.
  Option list(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// Adds an option that takes one string after its name, and may be given several times.
  Option repeated(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// Adds an option for a string that may be empty.
  Option any_text(const char* name, std::optional<std::string>& value, const char* type, const std::string& help);
  /// Adds an option for a number from `low` to `high`. A default outside of this range means "not given", and --help does not show it.
  template <class N>
  Option number(const char* name, N& value, N low, N high, const std::string& help);
  Option flag(const char* names, bool& value, const std::string& help);

 private:
  CLI::App* app_;
};

/// A group of commands: the program, or a word in front of several commands, such as `tokenizer`.
class Commands {
 public:
  /// Sets `chosen` to the action of the command that the user names.
  Commands(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  /// Adds a command. `examples` is the end of its help. `action` does the work and returns the exit code; it may throw InputError (exit
  /// code 2) or Error (1).
  Command add(const char* name, const char* what, const char* examples, std::function<int()> action);
  Commands group(const char* name, const char* what);
  /// Adds a group that is also a command: `action` runs if none of its commands is named.
  Commands group(const char* name, const char* what, std::function<int()> action);
  /// Returns the options of the group itself.
  Command own() { return Command(*app_); }
  /// Returns a function that describes the group with all that has been added when it is called.
  std::function<CommandDescription()> describer() const;

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

}  // namespace dikkat
