#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// What the command line can do, by command. A command is one file, NAME_command.cpp: its arguments, its options with their help, and what
// it does. CLI11 stands behind the classes here.
namespace dikkat {

/// One option or argument of a command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// Adds the option's name to `given` where the option is given.
  Option& note_in(std::vector<std::string>& given);

 private:
  CLI::Option* option_;
};

/// Declares the options of one command. What they set must live until the command has run: the action that
/// Commands::add() got should own it. A name without dashes ("RUN_DIR") is an argument that is known by its place.
/// Defaults are read from the values at the time of the declaration, and --help shows them.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  /// Paths and texts. An empty one is refused: it is a mistake, such as a variable of the shell that is not set.
  Option text(const char* name, std::string& value, const char* type, const std::string& help);
  /// Several after one name; the option may be given several times too.
  Option texts(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// One text after each name; the option may be given several times.
  Option repeated(const char* name, std::vector<std::string>& values, const char* type, const std::string& help);
  /// A text that may be empty.
  Option any_text(const char* name, std::optional<std::string>& value, const char* type, const std::string& help);
  /// A number from `low` to `high`. A default outside of that means "not given" and is not shown.
  template <class N>
  Option number(const char* name, N& value, N low, N high, const std::string& help);
  Option flag(const char* names, bool& value, const std::string& help);

 private:
  CLI::App* app_;
};

/// A place for commands: the program, or a word that stands before several of them, such as `tokenizer`.
class Commands {
 public:
  /// `chosen` becomes the action of the command that is named.
  Commands(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  /// `examples` ends the command's help. `action` does the work and gives the exit code; it throws InputError (exit code 2) or Error (1).
  Command add(const char* name, const char* what, const char* examples, std::function<int()> action);
  Commands group(const char* name, const char* what);

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

}  // namespace dikkat
