#include "train/cli/command_line.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/help_text.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/version.h"
#include "train/config/render.h"
#include "train/config/schema.h"
#include "train/system/nearest_word.h"

namespace dikkat {
namespace {

constexpr const char* kFooter = R"(Examples:
  dikkat plan --config quickstart --corpus my-text.txt
  dikkat train --config quickstart --corpus my-text.txt --out runs/mine
  dikkat resume runs/mine --set train.max_steps=4000
  dikkat assistant --corpus my-texts/ --time 3h --out runs/assistant
  dikkat sweep --config quickstart --vary optim.learning_rate=1e-3,2e-3,4e-3 --out runs/rates
  dikkat eval runs/mine --json
  dikkat sample runs/mine --prompt "Once" --temperature 0.7 --num-samples 3
  dikkat report runs/mine
  dikkat inspect runs/mine
  dikkat verify runs/mine
  dikkat corpus inspect my-text.txt
  dikkat tokenizer train --corpus my-text.txt --vocab-size 4096 --out my-tokenizer

`dikkat COMMAND --help` explains a command, `dikkat --help-config` every key of a configuration.
Exit codes: 0 for success, 1 for a failure, 2 for bad input; 130, 143, 129 and 138 after SIGINT,
SIGTERM, SIGHUP and SIGUSR1, which save the run.)";

/// Thrown by --help-config, so that no other argument is required.
struct HelpForKeysWanted {};

/// Formats help with the arguments before the options in usage lines, since an option that takes several values would swallow them.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + name + (app->get_subcommands({}).empty() ? "" : " COMMAND");
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) {
        usage += ' ' + option->get_name();
      } else if (option->get_required()) {
        usage += ' ' + option->get_name() + ' ' + option->get_type_name();
      }
    }
    return usage + " [OPTIONS]\n";
  }
};

/// The program's options and commands. `chosen` is the action of the command that the user names.
struct CommandLine {
  CLI::App app{"dikkat trains, fine-tunes, evaluates and runs GPT models and encoder-decoders on CPUs.", "dikkat"};
  int threads = 0;
  bool quiet = false;
  bool verbose = false;
  bool version = false;
  std::function<int()> chosen;

  CommandLine() {
    app.formatter(std::make_shared<Help>());
    Command(app).flag("--version", version, "Print the version");
    Command(app).flag("--verbose", verbose,
                      "With --version: also print the commit, compiler, instruction set, libraries and MPI plugins, for bug reports");
    Command(app).number("--threads", threads, 1, 4096,
                        "Number of threads; by default OMP_NUM_THREADS, or the number of cores that the process may use");
    Command(app).flag("--quiet", quiet, "Print only results, warnings and errors");
    app.add_flag_function(
           "--help-config", [](std::int64_t) { throw HelpForKeysWanted(); }, "Describe every key of a configuration")
        ->trigger_on_parse();
    app.require_subcommand(0, 1);
    app.fallthrough();  // --threads may also follow the command
    Commands program(app, chosen);
    for (const auto add : {add_assistant, add_train, add_finetune,       add_resume,     add_eval,  add_classify, add_embed,     add_sample,
                           add_chat,      add_serve, add_import,         add_merge,      add_teach, add_export,   add_inspect,   add_report,
                           add_watch,     add_runs,  add_export_metrics, add_verify,     add_plan,  add_sweep,    add_tokenizer, add_corpus,
                           add_config,    add_bench, add_cache,          add_completion, add_man}) {
      add(program);
    }
    app.footer(kFooter);
  }
};

/// Returns "; did you mean WORD?" if one of the words is similar; otherwise `otherwise`.
std::string guess(const std::vector<std::string>& words, const std::string& word, const std::string& otherwise) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  const std::string_view nearest = nearest_word(views, word);
  return nearest.empty() ? otherwise : concat("; did you mean ", nearest, "?");
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// Returns "; keys are set with --set train.max_steps=VALUE" for --max-steps, which is the name of a key; otherwise `otherwise`.
std::string guess_key(const std::string& option, const std::string& otherwise) {
  std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::ranges::replace(name, '-', '_');
  const auto key = std::ranges::find_if(schema::keys(), [&](const schema::Key& one) { return one.name == name || one.path() == name; });
  return key == schema::keys().end() ? otherwise : concat("; keys are set with --set ", key->path(), "=VALUE");
}

/// Returns the error for an argument that neither the command nor an option accepts. `path` has the words of the command, each followed by
/// a space.
std::string describe_stray(const CLI::App& app, const CLI::App& command, const std::string& path, const std::string& stray) {
  if (stray.starts_with('-')) {
    const std::string name = stray.substr(0, stray.find('='));
    std::vector<std::string> options = options_of(command);
    const bool sets_keys = std::ranges::find(options, "--set") != options.end();
    if (&command != &app && std::ranges::find(options, name) != options.end()) {
      return concat(name, " belongs after the command: dikkat ", path, "... ", name, " ...");
    }
    std::ranges::copy(options_of(app), std::back_inserter(options));
    const std::string nearest = guess(options, name, "");
    return concat("unknown option ", stray, sets_keys ? guess_key(name, nearest) : nearest);
  }
  const std::vector<std::string> commands = names_of_commands(command);
  if (commands.empty()) {
    return concat(command.get_name(), " does not take the argument ", stray);
  }
  return concat("unknown command ", stray,
                guess(commands, stray, concat("; the commands are ", fmt::to_string(fmt::join(commands, ", ")))));
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error, std::span<char*> arguments) {
  const CLI::App* named = &app;
  std::string path;  // the words of the named command: "tokenizer train "
  while (!named->get_subcommands().empty()) {
    named = named->get_subcommands().front();
    path += named->get_name() + ' ';
  }
  const CLI::App& command = *named;
  const std::string advice = concat(" (see dikkat ", path, "--help)");

  const std::vector<std::string> strays = app.remaining(true);
  if (const auto stray = std::ranges::find_first_of(arguments, strays); stray != arguments.end()) {
    fail_input(describe_stray(app, command, path, *stray), advice);
  }
  if (const auto commands = names_of_commands(command); dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    fail_input("dikkat ", path, "needs one of its commands: ", fmt::to_string(fmt::join(commands, ", ")), advice);
  }
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = what.substr(0, what.find(':'));
    const CLI::Option* option = command.get_option_no_throw(name);
    const bool several = option != nullptr && option->get_items_expected_max() > 1;
    fail_input(name, several ? " takes one or more values" : " takes one value and can be given only once", advice);
  }
  fail_input(what, advice);
}

std::string& the_command() {
  static std::string command = "dikkat";
  return command;
}

}  // namespace

const std::string& running_command() { return the_command(); }

int run_command_line(int argc, char** argv) {
  // Parse the arguments. Help ends the program by an exception.
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const HelpForKeysWanted&) {
    print_result(with_wrapped_comments(to_commented_toml(Config{}), help_columns()));
    flush_results();
    return 0;
  } catch (const CLI::Success& e) {  // --help
    std::ostringstream text;
    line.app.exit(e, text, text);
    print_result(wrapped_help(text.str(), help_columns()));
    flush_results();
    return 0;
  } catch (const CLI::ParseError& e) {
    refuse(line.app, e, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  }
  // Without a command, print the version or the help.
  if (line.version) {
    print_result(line.verbose ? version_report() : version_line());
    flush_results();
    return 0;
  }
  if (!line.chosen) {
    warn(wrapped_help(line.app.help(), help_columns()), 0, "\n");
    constexpr int kUsage = 2;
    return kUsage;
  }
  // Run the command.
  if (line.quiet) {
    be_quiet();
  }
  if (line.threads > 0) {
    set_thread_count(line.threads);
  }
  for (const CLI::App* at = &line.app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    the_command() += ' ' + at->get_name();
  }
  return line.chosen();
}

}  // namespace dikkat
