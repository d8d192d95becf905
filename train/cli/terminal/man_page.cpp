#include "train/cli/terminal/man_page.h"

#include <cctype>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Escapes a string for troff: backslashes and hyphens are printed as such, and no line is taken for a macro.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string bold(const std::string& text) { return concat("\\fB", troff(text), "\\fR"); }
std::string italic(const std::string& text) { return concat("\\fI", troff(text), "\\fR"); }

std::string head_of(const OptionDescription& option) {
  if (option.is_argument) {
    return italic(option.names.front());
  }
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + bold(name);
  }
  return option.type.empty() ? head : head + " " + italic(option.type);
}

std::string options_of(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    const std::string by_default = option.default_value.empty() ? "" : " Default: " + option.default_value + ".";
    text += concat(".TP\n", head_of(option), "\n", troff(option.help), option.help.empty() || option.help.ends_with('.') ? "" : ".",
                   troff(by_default), "\n");
  }
  return text;
}

std::string examples_of(const CommandDescription& command) {
  constexpr std::string_view kHead = "Examples:\n";
  std::string text = command.examples;
  if (text.starts_with(kHead)) {
    text.erase(0, kHead.size());
  }
  return text.empty() ? "" : concat(".SH EXAMPLES\n.nf\n", troff(text), "\n.fi\n");
}

std::string upper(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

/// Returns the page of a command. `words` is the command as the user types it: "dikkat tokenizer".
std::string page_of(const CommandDescription& command, const std::string& words, const std::string& file, const std::string& version) {
  std::string text = concat(".TH ", upper(file), " 1 \"\" \"dikkat ", version, "\" \"User Commands\"\n");
  text += concat(".SH NAME\n", troff(file), " \\- ", troff(command.what), "\n.SH SYNOPSIS\n", bold(words));
  text += command.commands.empty() ? "" : concat(" ", italic("COMMAND"));
  for (const OptionDescription& option : command.options) {
    text += option.is_argument ? concat(" ", italic(option.names.front())) : "";
  }
  text += concat(" [", italic("OPTIONS"), "]\n");
  if (!command.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandDescription& one : command.commands) {
      text += concat(".TP\n", bold(one.name), "\n", troff(one.what), ".\n");
    }
  }
  if (const std::string options = options_of(command); !options.empty()) {
    text += ".SH OPTIONS\n" + options;
  }
  return text + examples_of(command);
}

}  // namespace

std::vector<ManPage> man_pages(const CommandDescription& program, const std::string& version) {
  std::vector<ManPage> pages;
  const auto add = [&](const auto& self, const CommandDescription& command, const std::string& words, const std::string& file) -> void {
    pages.push_back({file + ".1", page_of(command, words, file, version)});
    for (const CommandDescription& one : command.commands) {
      self(self, one, words + " " + one.name, file + "-" + one.name);
    }
  };
  add(add, program, program.name, program.name);
  return pages;
}

}  // namespace dikkat
