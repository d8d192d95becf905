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
  /// If the user gives the option, its name is added to `given`.
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

  /// A path or other text. It must not be empty, since that is usually a mistake, such as an unset shell variable.
  Option text(const char* name, std::string& value, const char* type, const std::string& help);
  /// Several texts after one name. The option may also be given several times.
  Option texts(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// One text after the name. The option may be given several times.
  Option repeated(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// A text that may be empty.
  Option any_text(const char* name, std::optional<std::string>& value, const char* type, const std::string& help);
  /// A number from `low` to `high`. A default outside of this range means "not given", and --help does not show it.
  template <class N>
  Option number(const char* name, N& value, N low, N high, const std::string& help);
  Option flag(const char* names, bool& value, const std::string& help);

 private:
  CLI::App* app_;
};

/// A group of commands: the program, or a word in front of several commands, such as `tokenizer`.
class Commands {
 public:
  /// `chosen` becomes the action of the command that the user names.
  Commands(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  /// `examples` is the end of the command's help. `action` does the work and returns the exit code; it may throw InputError (exit code 2)
  /// or Error (1).
  Command add(const char* name, const char* what, const char* examples, std::function<int()> action);
  Commands group(const char* name, const char* what);
  /// A group that is also a command: `action` runs if none of its commands is named.
  Commands group(const char* name, const char* what, std::function<int()> action);
  /// The options of the group itself.
  Command own() { return Command(*app_); }
  /// Returns a function that describes the group with all that has been added when it is called.
  std::function<CommandDescription()> describer() const;

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

}  // namespace dikkat
