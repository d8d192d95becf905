#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace dikkat {

struct OptionDescription {
  std::vector<std::string> names{};  ///< "--out", "-i"; an argument has only its name
  std::string type{};                ///< "DIR"; empty for a flag
  std::string help{};
  std::string default_value{};  ///< empty if there is no default
  bool is_argument = false;     ///< given without a name
};

/// A command with its options and its own commands. Man pages and completions are made from it, so they cannot differ from the program.
struct CommandDescription {
  std::string name, what;
  std::string examples{};  ///< the lines after "Examples:"
  std::vector<OptionDescription> options{};
  std::vector<CommandDescription> commands{};
};

CommandDescription describe(const CLI::App& app);

}  // namespace dikkat
