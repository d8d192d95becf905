#include "train/cli/completions.h"

#include <functional>

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

/// The text in quotes for a shell that knows no escapes in '...'.
std::string in_single_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

/// Commands and options that may come next.
std::string next_words(const CommandDescription& command) {
  std::string words;
  for (const CommandDescription& one : command.commands) {
    words += one.name + " ";
  }
  for (const OptionDescription& option : command.options) {
    for (const std::string& name : option.is_argument ? std::vector<std::string>() : option.names) {
      words += name + " ";
    }
  }
  return words;
}

std::string for_bash(const CommandDescription& program) {
  std::string cases;
  std::string paths;
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    cases += concat("    ", in_single_quotes(words), ") words=", in_single_quotes(next_words(command)), " ;;\n");
    paths += words.empty() ? "" : concat("|", in_single_quotes(words));
  });
  return "# bash completion for dikkat, made by: dikkat completion bash\n"
         "_dikkat() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path= words= i next\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $next in\n"
         "    " +
         paths.substr(1) +
         ") path=$next ;;\n"
         "    esac\n"
         "  done\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _dikkat dikkat\n";
}

/// In "name:text" of zsh's _describe, a colon in the name ends it; a text is one line.
std::string for_zsh(const CommandDescription& program) {
  std::string cases;
  std::string paths;
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    std::string list;
    for (const CommandDescription& one : command.commands) {
      list += concat(" ", in_single_quotes(one.name + ":" + one.what));
    }
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : option.is_argument ? std::vector<std::string>() : option.names) {
        list += concat(" ", in_single_quotes(name + ":" + option.help));
      }
    }
    cases += concat("    ", in_single_quotes(words), ") next=(", list, " ) ;;\n");
    paths += words.empty() ? "" : concat("|", in_single_quotes(words));
  });
  return "#compdef dikkat\n# zsh completion for dikkat, made by: dikkat completion zsh\n"
         "_dikkat() {\n"
         "  local path_= i word\n"
         "  local -a next\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    word=\"${path_:+$path_ }${words[i]}\"\n"
         "    case $word in\n"
         "    " +
         paths.substr(1) +
         ") path_=$word ;;\n"
         "    esac\n"
         "  done\n"
         "  case $path_ in\n" +
         cases +
         "  esac\n"
         "  _describe 'dikkat' next\n"
         "  _files\n"
         "}\n"
         "_dikkat \"$@\"\n";
}

std::string for_fish(const CommandDescription& program) {
  std::string lines = "# fish completion for dikkat, made by: dikkat completion fish\n";
  for_each_command(program, [&](const std::string& words, const CommandDescription& command) {
    // Seen: all words that lead to the command, and none of those that lead on.
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
    for (const CommandDescription& one : command.commands) {
      lines += concat(begin, " -f -a ", one.name, " -d ", in_single_quotes(one.what), "\n");
    }
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : option.is_argument ? std::vector<std::string>() : option.names) {
        const bool is_long = name.starts_with("--");
        lines += concat(begin, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1), option.type.empty() ? "" : " -r", " -d ", in_single_quotes(option.help), "\n");
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
