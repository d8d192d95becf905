#include "train/cli/terminal/help_text.h"

#include <algorithm>

#include "train/cli/terminal/terminal.h"

namespace dikkat {
namespace {

/// Returns the column at which the description of "  --name TYPE      description" begins; 0 if the line is not such a row. After a name
/// that fills its column the description has a line of its own, which is blank up to it.
std::size_t description_at(std::string_view line) {
  constexpr std::size_t kColumn = 30;
  const bool is_row = line.size() > kColumn && line.starts_with("  ") && line[kColumn - 1] == ' ' && line[kColumn] != ' ';
  return is_row ? kColumn : 0;
}

/// Appends `text` in lines shorter than `columns`. The first one continues the last line of `out`, which is `at` wide; the others begin
/// with `indent` blanks.
void append_wrapped(std::string& out, std::string_view text, index at, index indent, index columns) {
  std::string lines = wrapped(text, columns - indent + 1, 0);  // wrapped() leaves the last column free
  out.append(static_cast<std::size_t>(std::max<index>(0, indent - at)), ' ');
  for (const char c : lines) {
    out += c;
    if (c == '\n') {
      out.append(static_cast<std::size_t>(indent), ' ');
    }
  }
}

}  // namespace

index help_columns() {
  constexpr index kOfAFile = 100;
  const index wanted = wanted_columns();
  const index columns = wanted > 0 ? wanted : output_columns();
  return columns > 0 ? columns : kOfAFile;
}

std::string wrapped_help(std::string_view help, index columns) {
  constexpr index kNarrow = 60;  // in narrower terminals a description begins below its name
  constexpr index kBelow = 6;    // the indent of such a description
  std::string out;
  bool in_examples = false;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    in_examples = in_examples || line.starts_with("Examples:");
    const std::size_t description = in_examples ? 0 : description_at(line);
    if (std::ssize(line) <= columns || (in_examples && line.starts_with("  "))) {
      out += line;
    } else if (description == 0) {
      append_wrapped(out, line, 0, 0, columns);
    } else if (columns >= kNarrow) {
      out += line.substr(0, description);
      append_wrapped(out, line.substr(description), static_cast<index>(description), static_cast<index>(description), columns);
    } else {
      const std::string_view name = line.substr(0, line.find_last_not_of(' ', description - 1) + 1);
      out += name;
      out += name.find_first_not_of(' ') == std::string_view::npos ? "" : "\n";
      append_wrapped(out, line.substr(description), 0, kBelow, columns);
    }
    out += '\n';
  }
  return out;
}

std::string with_wrapped_comments(std::string_view toml, index columns) {
  constexpr std::string_view kContinued = "\n#   ";
  std::string out;
  while (!toml.empty()) {
    const std::size_t end = std::min(toml.find('\n'), toml.size());
    const std::string_view line = toml.substr(0, end);
    toml.remove_prefix(std::min(end + 1, toml.size()));
    if (line.starts_with('#') && std::ssize(line) > columns) {
      for (const char c : wrapped(line, columns - std::ssize(kContinued) + 2, 0)) {
        c == '\n' ? out += kContinued : out += c;
      }
    } else {
      out += line;
    }
    out += '\n';
  }
  return out;
}

}  // namespace dikkat
