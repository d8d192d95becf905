#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace dikkat {

struct OptionDescription {
  std::vector<std::string> names{};  ///< "--out", "-i"; of an argument its name alone
  std::string type{};                ///< "DIR"; empty for a flag
  std::string help{};
  std::string default_value{};  ///< empty: there is none
  bool is_argument = false;     ///< stands without a name
};

/// What the command line knows about itself: man pages and completions are made of it, so that they cannot differ from the program.
struct CommandDescription {
  std::string name, what;
  std::string examples{};  ///< lines, after "Examples:"
  std::vector<OptionDescription> options{};
  std::vector<CommandDescription> commands{};
};

CommandDescription describe(const CLI::App& app);

}  // namespace dikkat
