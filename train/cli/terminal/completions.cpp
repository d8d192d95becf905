#include "train/cli/terminal/completions.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Calls `act` with each command and the words that lead to it: "", "train", "tokenizer train".
void for_each_command(const CommandDescription& program, const std::function<void(const std::string&, const CommandDescription&)>& act) {
  const auto visit = [&](const auto& self, const std::string& words, const CommandDescription& command) -> void {
    act(words, command);
    for (const CommandDescription& one : command.commands) {
      self(self, words.empty() ? one.name : words + " " + one.name, one);
    }
  };
  visit(visit, "", program);
}

/// Quotes a string for a shell that has no escapes in '...'.
std::string in_single_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

/// Returns the names of an option; empty for an argument.
std::vector<std::string> own_names(const OptionDescription& option) {
  return option.is_argument ? std::vector<std::string>() : option.names;
}

std::string command_names(const CommandDescription& command) {
  std::string words;
  for (const CommandDescription& one : command.commands) {
    words += one.name + " ";
  }
  return words;
}

std::string option_names(const CommandDescription& command) {
  std::string words;
  for (const OptionDescription& option : command.options) {
    for (const std::string& name : own_names(option)) {
      words += name + " ";
    }
  }
  return words;
}

/// Returns all sequences of words that lead to a command, as a pattern for a shell's case: 'train'|'tokenizer'|'tokenizer train'.
std::string paths_of(const CommandDescription& program) {
  std::string paths;
  for_each_command(program, [&](const std::string& words, const CommandDescription&) {
    paths += words.empty() ? "" : concat(paths.empty() ? "" : "|", in_single_quotes(words));
  });
  return paths;
}

/// Returns the script for bash, which completes file names (-o default) where neither an option nor a command can follow.
std::string for_bash(const CommandDescription& program) {
  // Collect what each command offers.
  std::string cases;
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    cases += concat("    ", in_single_quotes(words), ") commands=", in_single_quotes(command_names(command)),
                    " options=", in_single_quotes(option_names(command)), " ;;\n");
  });
  // Find the command in the words so far, and offer what fits.
  return "# bash completion for dikkat, made by: dikkat completion bash\n"
         "_dikkat() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= option= commands= options= words= i next\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $next in\n"
         "    " +
         paths_of(program) +
         ") path=$next ;;\n"
         "    esac\n"
         "    if [[ ${COMP_WORDS[i]} == -* ]]; then option=${COMP_WORDS[i]}; fi\n"
         "  done\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    words=$options\n"
         "  elif [[ $option == --config && $before == --config ]]; then\n"
         "    words=$(\"${COMP_WORDS[0]}\" config list --names 2>/dev/null)\n"
         "  elif [[ $option == --set || $option == --vary ]]; then\n"
         "    if [[ $before != = && $current != = ]]; then  # bash splits key=value\n"
         "      words=$(\"${COMP_WORDS[0]}\" config keys 2>/dev/null | sed 's/$/=/')\n"
         "      compopt -o nospace 2>/dev/null\n"
         "    fi\n"
         "  else\n"
         "    words=$commands\n"
         "  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _dikkat dikkat\n";
}

/// Returns the script for zsh. Its _describe takes "name:text": a name contains no colon, and the text is one line.
std::string for_zsh(const CommandDescription& program) {
  // Collect what each command offers.
  std::string cases;
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    std::string commands, options;
    for (const CommandDescription& one : command.commands) {
      commands += concat(" ", in_single_quotes(one.name + ":" + one.what));
    }
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : own_names(option)) {
        options += concat(" ", in_single_quotes(name + ":" + option.help));
      }
    }
    cases += concat("    ", in_single_quotes(words), ") commands=(", commands, " ) options=(", options, " ) ;;\n");
  });
  // Find the command in the words so far, and offer what fits.
  return "#compdef dikkat\n# zsh completion for dikkat, made by: dikkat completion zsh\n"
         "_dikkat() {\n"
         "  local path_= option= i word\n"
         "  local -a commands options\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    word=\"${path_:+$path_ }${words[i]}\"\n"
         "    case $word in\n"
         "    " +
         paths_of(program) +
         ") path_=$word ;;\n"
         "    esac\n"
         "    if [[ ${words[i]} == -* ]]; then option=${words[i]}; fi\n"
         "  done\n"
         "  case $path_ in\n" +
         cases +
         "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    _describe 'option' options\n"
         "  elif [[ $option == --config && ${words[CURRENT-1]} == --config ]]; then\n"
         "    compadd -- ${(f)\"$(${words[1]} config list --names 2>/dev/null)\"}\n"
         "    _files\n"
         "  elif [[ $option == --set || $option == --vary ]]; then\n"
         "    compadd -S '' -- ${(f)\"$(${words[1]} config keys 2>/dev/null | sed 's/$/=/')\"}\n"
         "  elif (( $#commands )); then\n"
         "    _describe 'command' commands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_dikkat \"$@\"\n";
}

std::string for_fish(const CommandDescription& program) {
  std::string lines = "# fish completion for dikkat, made by: dikkat completion fish\n";
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    // The lines apply if all words of the command were seen, and none of its own commands.
    std::string condition;
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find(' ', at), words.size());
      condition += concat(condition.empty() ? "" : "; and ", "__fish_seen_subcommand_from ", words.substr(at, end - at));
      at = end + 1;
    }
    std::string further;
    for (const CommandDescription& one : command.commands) {
      further += concat(" ", one.name);
    }
    if (!further.empty()) {
      condition += concat(condition.empty() ? "not " : "; and not ", "__fish_seen_subcommand_from", further);
    }
    const std::string begin = condition.empty() ? "complete -c dikkat" : concat("complete -c dikkat -n ", in_single_quotes(condition));
    // Write a line for each command and option.
    for (const CommandDescription& one : command.commands) {
      lines += concat(begin, " -f -a ", one.name, " -d ", in_single_quotes(one.what), "\n");
    }
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : own_names(option)) {
        const bool is_long = name.starts_with("--");
        const char* values = name == "--config" ? " -a '(dikkat config list --names 2>/dev/null)'"
                             : name == "--set" || name == "--vary"
                                 ? " -f -a '(dikkat config keys 2>/dev/null | string replace -r \"\\$\" =)'"
                                 : "";
        lines += concat(begin, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1), option.type.empty() ? "" : " -r", values, " -d ",
                        in_single_quotes(option.help), "\n");
      }
    }
  });
  return lines;
}

}  // namespace

std::string completions_for(const std::string& shell, const CommandDescription& program) {
  if (shell == "bash") {
    return for_bash(program);
  }
  if (shell == "zsh") {
    return for_zsh(program);
  }
  require_input(shell == "fish", "there are no completions for ", shell, ", expected bash, zsh or fish");
  return for_fish(program);
}

}  // namespace dikkat
